import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hostStore } from "../../src/state/hosts.js";
import { openSecrets } from "../../src/state/secrets.js";
import { unitOf } from "./agents.js";
import { type Call, clm, inHost } from "./clm.js";
import { labFixture, withEcho } from "./fixture.js";
import { closedButForSsh } from "./network.js";
import { onTerminal } from "./terminal.js";

const host = "trial-3";
/** Two agents on one host, one of the oldest and one of the newest version. */
const names = { old: "olga", new: "nils" };
const versions = [
  ["0.13", names.old, "2026.5.7+standin"],
  ["0.18", names.new, "2026.7.1+standin"],
] as const;

const chat = (name: string, words: string[], call: Partial<Call> = {}) =>
  clm(["chat", name, ...words], { home, ...call });
const long = `slowly ${Array.from({ length: 200 }, (_, at) => `word${at}`).join(" ")}`;
const sessionIn = (stderr: string) => /--session (\S+)/.exec(stderr)?.[1] ?? "";
/** The stand-in reads its switches with every call, without a restart. */
const switched = (name: string, words: string) => inHost(host, `echo '${words}' >/home/${name}/.hermes/.standin`);
/** The number of messages that an agent has stored; waits until there are at least `least`. */
const kept = async (name: string, least = 0) => {
  const count = `import sqlite3
d=sqlite3.connect("file:/home/${name}/.hermes/state.db?mode=ro",uri=True)
print(d.execute("select count(*) from messages where role=?",["user"]).fetchone()[0])`;
  return Number(
    await inHost(
      host,
      `for n in $(seq 100); do
        kept=$(runuser -u ${name} -- /usr/bin/python3 -c '${count}')
        [ "\${kept:-0}" -ge ${least} ] && echo "$kept" && exit 0
        sleep 0.1
      done; exit 1`,
    ),
  );
};
const keyOf = (name: string) =>
  openSecrets(home).get({ host, type: "hermes", agent: name }, "HERMES_API_SERVER_KEY")?.reveal() ?? "";

const { home } = labFixture({
  agents: versions.map(([, name, version]) => ({ host, name, version, configure: withEcho })),
});

describe.each(versions)("%s", (_about, name) => {
  it("answers, and continues the session", async () => {
    const first = await chat(name, ["--once", "how many turns"]);
    expect([first.code, first.stdout], first.stderr).toEqual([0, "turns: 1\n"]);
    const id = sessionIn(first.stderr);
    expect(id).toMatch(/^clm-\d{8}-[0-9a-f]{8}$/);
    expect((await chat(name, ["--session", id], { input: "how many turns\n" })).stdout).toBe("turns: 2\n");
    const third = await chat(name, ["--last", "--once", "how many turns", "-o", "json"]);
    expect(JSON.parse(third.stdout)).toMatchObject({
      agent: `${host}:hermes:${name}`,
      session: id,
      text: "turns: 3",
      tools: [],
      cut: false,
      provider: "echo",
      model: "echo-1",
      tokens: { input: expect.any(Number) },
      seconds: expect.any(Number),
    });
    expect((await chat(name, ["--once", "how many turns"])).stdout).toBe("turns: 1\n");
  });

  it("reports a failed call as an error, not as an answer", async () => {
    await switched(name, "dead-upstream");
    const { code, stdout, stderr } = await chat(name, ["--once", "hello"]);
    expect([code, stdout, stderr]).toEqual([16, "", expect.stringContaining(`${name} got no answer from its model`)]);
    expect(stderr).toContain(`next: clm agent doctor ${name}`);
    const json = await chat(name, ["--once", "hello", "-o", "json"]);
    expect([json.code, json.stdout, JSON.parse(json.stderr).error.fault]).toEqual([16, "", "remote-failed"]);
    await switched(name, "");
  });
});

describe("messages", () => {
  const name = names.new;

  it("show tool calls, and hide secrets and control sequences in the answer", async () => {
    const { code, stdout, stderr } = await chat(name, [], {
      input: `use a tool\n\u001b[31m${keyOf(name)}\u001b]0;x\u0007.`,
    });
    expect([code, stdout]).toEqual([0, "echo: use a tool\n[secret].\n"]);
    expect(stderr).toContain("· terminal: uname -s\n");
  });

  it("may attach text files; unreadable ones are refused before anything is sent", async () => {
    const file = join(home, "notes.txt");
    writeFileSync(file, "one\ntwo\n");
    const { stdout } = await chat(name, ["--once", "see", "--file", file]);
    expect(stdout).toBe("echo: see\n\nnotes.txt:\n```\none\ntwo\n```\n");
    writeFileSync(file, "x".repeat(65_536));
    const last = readFileSync(join(home, "chats.json"), "utf8");
    for (const [path, why] of [
      [file, "too long"],
      [process.execPath, "larger than"],
      [join(home, "none"), "cannot be read"],
    ] as const) {
      const refused = await chat(name, ["--once", "see", "--file", path]);
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(why)]);
    }
    expect((await chat(name, [])).stderr).toContain("stdin is empty, and there is no terminal to chat on");
    expect((await chat(name, ["--once", "x", "--session", "a/b"])).code).toBe(2);
    expect(readFileSync(join(home, "chats.json"), "utf8")).toBe(last);
  });

  it("that the agent refuses are reported with the next command", async () => {
    const key = keyOf(name);
    const instance = { host, type: "hermes", agent: name } as const;
    const { Secret } = await import("../../src/secret.js");
    await openSecrets(home).set(instance, "HERMES_API_SERVER_KEY", new Secret("0".repeat(64)), "wrong");
    const { code, stderr } = await chat(name, ["--once", "hello"]);
    await openSecrets(home).set(instance, "HERMES_API_SERVER_KEY", new Secret(key), "right");
    expect([code, stderr]).toEqual([16, expect.stringMatching(/refuses its own key[\s\S]*next: clm agent configure/)]);
  });
});

describe("the connection", () => {
  const name = names.new;

  it("needs no open port on the host but SSH", async () => {
    const closed = closedButForSsh(home, host);
    try {
      expect(await chat(name, ["--once", "hello"])).toMatchObject({ code: 0, stdout: "echo: hello\n" });
    } finally {
      closed.open();
    }
  });

  // Keepalives detect a frozen host before the agent's own silence timeout ("stopped answering", after 120 s), even
  // where the user's ssh config sets a much longer keepalive interval.
  it.each([
    ["is cut", "KILL", "the connection ended"],
    ["leads to a host that froze", "STOP", "it stopped answering"],
  ])("that %s in the middle of an answer is reported", async (_about, signal, why) => {
    let done: Promise<unknown> | undefined;
    const before = await kept(name);
    const config = join(home, "patient_ssh_config");
    writeFileSync(config, "Host *\n  ServerAliveInterval 60\n  ServerAliveCountMax 10\n");
    const { code, stdout, stderr } = await chat(name, ["--once", long], {
      env: { CLM_SSH_CONFIG: config },
      during: (child) => {
        let heard = "";
        child.stdout?.on("data", (chunk) => {
          heard += chunk;
          if (heard.includes("slowly ")) done ??= inHost(host, `pkill -${signal} -f '[s]shd: clm'`);
        });
      },
    });
    await done;
    if (signal === "STOP") await inHost(host, "pkill -KILL -f '[s]shd: clm'");
    expect([code, stderr]).toEqual([14, expect.stringContaining(why)]);
    expect(stdout).toMatch(/^echo: slowly .*\n$/);
    // The message can be continued: an agent stores it once it notices that the client is gone.
    await kept(name, before + 1);
    const id = /next: clm chat nils --session (\S+)/.exec(stderr)?.[1] ?? "";
    expect((await chat(name, ["--session", id, "--once", "how many turns"])).stdout).toBe("turns: 2\n");
  });

  it("that the SSH server refuses to forward is reported with the setting that forbids it, by chat and tunnel", async () => {
    const file = "/etc/ssh/sshd_config.d/00-closed.conf";
    const reload = "systemctl reload ssh && sshd -t";
    try {
      await inHost(host, `echo 'AllowTcpForwarding no' >${file}; ${reload}`);
      for (const words of [
        ["chat", name, "--once", "hello"],
        ["tunnel", name],
      ]) {
        const { code, stdout, stderr } = await clm(words, { home });
        expect([words[0], code, stdout, stderr]).toEqual([
          words[0],
          17,
          "",
          expect.stringContaining("AllowTcpForwarding"),
        ]);
        expect(stderr).toMatch(/SSH server of trial-3 does not[\s\S]*next: clm host exec trial-3 --sudo -- 'sshd -T/);
      }
    } finally {
      await inHost(host, `rm ${file}; ${reload}`);
    }
  });

  it("that the user closes ends the agent's work", async () => {
    const since = Number(await inHost(host, `wc -l </home/${name}/.hermes/logs/agent.log`));
    const { code } = await chat(name, ["--once", long], {
      during: (child) => child.stdout?.once("data", () => child.kill("SIGINT")),
    });
    expect(code).toBe(130);
    await inHost(
      host,
      `for n in $(seq 100); do
        tail -n +${since + 1} /home/${name}/.hermes/logs/agent.log | grep -q 'interrupted agent task' && exit 0; sleep 0.1
      done; exit 1`,
    );
  });
});

describe("at a terminal", () => {
  const name = names.new;

  it("is a conversation; Ctrl-C stops the answer, not the program", async () => {
    const before = await kept(name);
    const { code, screen } = await onTerminal(["chat", name], {
      home,
      answers: [
        [/nils> /, "hello\r"],
        [/echo: hello[\s\S]*nils> /, `${long}\r`],
        [/echo: slowly word0 word1/, "\u0003"],
        [/stopped\s[\s\S]*nils> /, () => kept(name, before + 2).then(() => "how many turns\r")],
        [/turns: 3\s[\s\S]*nils> /, "/nonsense\r"],
        [/unknown command \/nonsense[\s\S]*nils> /, "/session\r"],
        [/--session clm-[\s\S]*nils> /, "/reset\r"],
        [/a new conversation[\s\S]*nils> /, "how many turns\r"],
        [/turns: 1\s[\s\S]*nils> /, "/exit\r"],
      ],
    });
    expect(code, screen).toBe(0);
    expect(screen.trimEnd()).toMatch(/continue with: clm chat nils --session clm-\d{8}-[0-9a-f]{8}$/);
  });

  it("reconnects after a lost connection and continues", async () => {
    const before = await kept(name);
    let cut: Promise<unknown> | undefined;
    const { code, screen } = await onTerminal(["chat", name], {
      home,
      answers: [
        [/nils> /, "hello\r"],
        [/echo: hello[\s\S]*nils> /, `${long}\r`],
        [
          /echo: slowly word0/,
          () => {
            cut = inHost(host, "pkill -KILL -f '[s]shd: clm'");
            return "";
          },
        ],
        [
          /lost the connection[\s\S]*reconnects[\s\S]*nils> /,
          () => kept(name, before + 2).then(() => "how many turns\r"),
        ],
        [/turns: 3\s[\s\S]*nils> /, "\u0004"],
      ],
    });
    await cut;
    expect(code, screen).toBe(0);
  });
});

it("never sends the key to another process on the port", async () => {
  const name = names.old;
  const { port } = hostStore(home)
    .read()
    .hosts.find((each) => each.name === host)?.agents[name] ?? { port: 0 };
  await inHost(host, `systemctl stop ${unitOf(name)}`);
  const stopped = await chat(name, ["--once", "hello"]);
  expect([stopped.code, stopped.stderr]).toEqual([8, expect.stringContaining(`next: clm agent start ${name}`)]);
  const listener = `import socket
s=socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1",${port})); s.listen()
open("/tmp/ready","w"); heard=open("/tmp/heard","ab",0)
while 1: heard.write(s.accept()[0].recv(9999)+b"!")`;
  await inHost(
    host,
    `systemd-run -q --unit stranger --uid nobody -- /usr/bin/python3 -c '${listener}'
      for n in $(seq 100); do [ -e /tmp/ready ] && exit 0; sleep 0.1; done; exit 1`,
  );
  const { code, stderr } = await chat(name, ["--once", "hello"]);
  const heard = await inHost(host, "cat /tmp/heard; systemctl stop stranger; rm /tmp/heard /tmp/ready");
  // A connection is opened before its owner is verified: the other process may get one, but no byte on it.
  expect([code, heard.replaceAll("!", "")]).toEqual([1, ""]);
  expect(stderr).toMatch(/key of olga was not sent[\s\S]*user nobody[\s\S]*next: clm agent doctor olga/);
});
