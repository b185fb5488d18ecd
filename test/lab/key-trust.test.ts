import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { loadType } from "../../src/agents/manifest/registry.js";
import { resolvedAgent } from "../../src/agents/plan/resolved-agent.js";
import { parseObservation } from "../../src/agents/probe/proof/observation.js";
import { portOwnerFault, portOwnerScript } from "../../src/agents/probe/proof/port-owner.js";
import { askHost } from "../../src/remote/ask-host.js";
import { findAgent } from "../../src/state/agents.js";
import { hostStore } from "../../src/state/hosts.js";
import { openSecrets } from "../../src/state/secrets.js";
import { unitOf } from "./agents.js";
import { clm, inHost } from "./clm.js";
import { connectTo } from "./connect.js";
import { labFixture, withEcho } from "./fixture.js";
import { type Squatter, squatOn } from "./port-squatter.js";
import { type Event, newKey, Running, Serving } from "./serving.js";
import { onTerminal } from "./terminal.js";

const host = "trial-2";
const name = "ada";
const unit = unitOf(name);
const words = "words-meant-for-ada-alone";
let port: number;
let agentKey: string;
let squatter: Squatter;

const { home } = labFixture({ agents: [{ host, name, configure: withEcho }] });
beforeAll(async () => {
  port =
    hostStore(home)
      .read()
      .hosts.find((each) => each.name === host)?.agents[name]?.port ?? 0;
  agentKey = openSecrets(home).get({ host, type: "hermes", agent: name }, "HERMES_API_SERVER_KEY")?.reveal() ?? "";
  // Restarts fast, however often it crashes.
  await inHost(
    host,
    `mkdir -p /etc/systemd/system/${unit}.d
printf '[Unit]\\nStartLimitIntervalSec=0\\n[Service]\\nRestart=always\\nRestartSec=500ms\\n' >/etc/systemd/system/${unit}.d/quick.conf
systemctl daemon-reload; systemctl restart ${unit}`,
  );
});
afterAll(async () => {
  await inHost(host, `rm -rf /etc/systemd/system/${unit}.d; systemctl daemon-reload`);
});

beforeEach(async () => {
  await inHost(host, untilUp());
  squatter = await squatOn(host, { port });
});
afterEach(async () => {
  await squatter.stop();
  await inHost(host, "rm -f /usr/local/bin/awk /usr/local/bin/curl");
});

/** Waits until the agent's own process has its port. */
const untilUp = () => `for n in $(seq 400); do
  pid=$(systemctl show -p MainPID --value ${unit})
  [ "$pid" != 0 ] && ss -Hltnp 'sport = :${port}' | grep -q "pid=$pid," && break
  sleep 0.05
done`;

/** Crashes the agent this many times, each time after it was up for a moment. */
const crash = (times: number) =>
  inHost(
    host,
    `for crash in $(seq ${times}); do\n${untilUp()}\nsleep 0.4\nkill -9 "$pid"\nsleep 0.2\ndone\n${untilUp()}`,
  );

/** Kills the agent and resolves when the squatter has its port. */
const crashAndLose = () =>
  inHost(
    host,
    `${untilUp()}
before=$(grep -c taken /run/port-squatter/events)
kill -9 "$pid"
for n in $(seq 400); do [ "$(grep -c taken /run/port-squatter/events)" -gt "$before" ] && exit 0; sleep 0.01; done; exit 1`,
  );

async function mustHaveHeardNothing(least: { times: number; connections: number }): Promise<void> {
  const heard = await squatter.heard();
  expect([heard.includes(agentKey), heard.includes(words)]).toEqual([false, false]);
  // Not even the start of a request.
  expect(heard).toBe("");
  const { times, connections } = await squatter.taken();
  expect(times).toBeGreaterThanOrEqual(least.times);
  expect(connections).toBeGreaterThanOrEqual(least.connections);
}

it("the gateway sends no key and no message to a port squatter, with traffic and 20 crashes of the agent", async () => {
  const serving = new Serving(home);
  const { url } = await serving.until("ready");
  const key = await newKey(home, "--name", "crashes", "--agents", "*", "--role", "admin");
  let over = false;
  let answered = 0;
  const caller = async () => {
    while (!over) {
      const status = await fetch(`${url}/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: name, messages: [{ role: "user", content: words }] }),
      }).then(
        async (response) => [response.status, await response.text()] as const,
        () => [0, ""] as const,
      );
      if (status[0] === 200 && status[1].includes(words)) answered++;
      else await sleep(20);
    }
  };
  try {
    const callers = Array.from({ length: 4 }, caller);
    await crash(20);
    const [before, deadline] = [answered, Date.now() + 30_000];
    while (answered < before + 4 && Date.now() < deadline) await sleep(50);
    over = true;
    await Promise.all(callers);
  } finally {
    over = true;
    await serving.stop();
  }
  await mustHaveHeardNothing({ times: 20, connections: 1 });
  expect(answered).toBeGreaterThan(20);
}, 400_000);

it("a connection that a squatter keeps is detected after the agent has its port again, until it is closed", async () => {
  const { manifest } = await loadType(home, "hermes");
  const agent = resolvedAgent(manifest, findAgent(hostStore(home).read(), name));
  const connection = await connectTo(home, host);
  const signal = new AbortController().signal;
  const look = async () => {
    const asking = { host, what: "which process holds the port", timeout: 30_000, signal };
    return portOwnerFault(
      agent,
      await askHost(connection.as("root"), portOwnerScript(agent), asking, parseObservation),
    );
  };
  try {
    await crashAndLose();
    const stream = await connection.forward(port);
    stream.on("error", () => {});
    await inHost(host, untilUp());
    expect((await look())?.why.join()).toMatch(/another process has a connection of port .* user nobody, python3/);
    stream.destroy();
    for (let tries = 0; (await look()) !== undefined; tries++) if (tries > 20) throw await look();
  } finally {
    connection.close();
  }
  await mustHaveHeardNothing({ times: 1, connections: 1 });
});

it("a conversation continues only with the agent itself", async () => {
  const { screen } = await onTerminal(["chat", name], {
    home,
    answers: [
      [/ada> /, "hello\r"],
      [/echo: hello[\s\S]*ada> /, () => crashAndLose().then(() => `${words}\r`)],
      [/ada> /, () => inHost(host, untilUp()).then(() => "once more\r")],
      [/echo: once more[\s\S]*ada> /, "/exit\r"],
    ],
  });
  await mustHaveHeardNothing({ times: 1, connections: 0 });
  expect(screen).toMatch(/is not its own alone|does not listen|cannot reach/);
});

it("a tunnel passes nothing to a port squatter", async () => {
  const tunnel = new Running<Event>(home, ["tunnel", name]);
  const { url } = await tunnel.until("open");
  const ask = () =>
    fetch(`${url}/v1/models`, {
      headers: { authorization: `Bearer ${agentKey}`, "x-words": words, connection: "close" },
    })
      .then(({ status }) => status)
      .catch(() => 0);
  try {
    expect(await ask()).toBe(200);
    for (let times = 0; times < 3; times++) {
      await crashAndLose();
      await Promise.all([ask(), ask(), ask()]);
    }
    await inHost(host, untilUp());
    for (let tries = 0; (await ask()) !== 200; tries++) if (tries > 50) throw new Error("the tunnel did not come back");
  } finally {
    await tunnel.stop();
  }
  await mustHaveHeardNothing({ times: 3, connections: 1 });
}, 200_000);

/** Kills the agent, so that the squatter gets the port. */
const end = `pid=$(systemctl show -p MainPID --value ${unit}); [ "$pid" = 0 ] || { kill -9 "$pid"; sleep 0.2; }`;

/** Programs that probes run on the host, each of which kills the agent at the worst moment. */
const crashing = {
  /** After the owner of the port was checked. */
  awk: `/usr/bin/awk "$@"; code=$?
case $* in *is_own*) ${end} ;; esac
exit "$code"`,
  /** Before the agent is asked. */
  curl: `input=$(cat)
case $input in *127.0.0.1:864*) ${end} ;; esac
printf '%s\\n' "$input" | exec /usr/bin/curl "$@"`,
};
const install = (program: string, text: string) =>
  inHost(
    host,
    `printf '%s\\n' '#!/bin/sh' '${text.replaceAll("'", "'\\''")}' >/usr/local/bin/${program}; chmod 755 /usr/local/bin/${program}`,
  );

it.each([
  ["ps", ["ps", name]],
  ["validate", ["agent", "configure", name, "--stage", "validate"]],
])(
  "%s sends no key when the agent dies between the look and the request",
  async (_command, args) => {
    for (const [program, text] of Object.entries(crashing)) await install(program, text);
    await clm(args, { home });
    await mustHaveHeardNothing({ times: 1, connections: 0 });
  },
  200_000,
);

it("ps and validate send no key in 8 crashes of the agent", async () => {
  let over = false;
  const commands = [
    ["ps", name],
    ["agent", "configure", name, "--stage", "validate"],
  ].map(async (args) => {
    while (!over) await clm(args, { home });
  });
  await crash(8);
  over = true;
  await Promise.all(commands);
  await mustHaveHeardNothing({ times: 8, connections: 0 });
}, 400_000);
