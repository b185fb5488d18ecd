import { createHash } from "node:crypto";
import { text } from "node:stream/consumers";
import { beforeAll, describe, expect, it } from "vitest";
import { ask } from "../../src/remote/http.js";
import { findAgent, recordAgent } from "../../src/state/agents.js";
import { hostStore } from "../../src/state/hosts.js";
import { unitOf } from "./agents.js";
import { clm, inHost } from "./clm.js";
import { connectTo } from "./connect.js";
import { labFixture, withEcho } from "./fixture.js";

const host = "trial-1";
const older = "trial13-1";
const service = "hermes-ada-proxy.service";
const path = `/etc/systemd/system/${service}`;
const auth = "/home/ada/.hermes/auth.json";

const lab = labFixture({
  agents: [
    { host, name: "ada", configure: [...withEcho, "--skip-chat"] },
    { host: older, name: "ben", version: "2026.5.7+standin" },
  ],
});
const { home } = lab;

const agent = (...words: string[]) => clm(["agent", ...words], { home });
const proxy = async (...words: string[]) => {
  const { code, stdout, stderr } = await agent("proxy", ...words, "-o", "json");
  return { code, stderr, told: stdout === "" ? undefined : JSON.parse(stdout) };
};
const enabled = async (...words: string[]) => {
  const { code, stderr, told } = await proxy("ada", "enable", ...words);
  expect(code, stderr).toBe(0);
  return told;
};
const login = (...words: string[]) => lab.must("agent", "exec", "ada", "--", "hermes", ...words);
const recorded = () => findAgent(hostStore(home).read(), "ada").record.proxy;
const pid = async () => (await inHost(host, `systemctl show -p MainPID --value ${service}`)).trim();
const until = (condition: string) =>
  inHost(host, `for n in $(seq 300); do ${condition} && exit 0; sleep 0.1; done; exit 1`);
/** Leftovers of a proxy on the host: its unit, its link, a listener on its ports. */
const left = () =>
  inHost(
    host,
    `ls -d ${path} ${path}.d /etc/systemd/system/*.wants/${service} /run/clm/restart/${service} 2>/dev/null
     systemctl list-units --all --no-legend '${service}'
     pgrep -af '[h]ermes.*proxy [s]tart'
     true`,
  );

const tokenOf = (provider: string, file: string) =>
  provider === "nous"
    ? JSON.parse(file).providers.nous.access_token
    : JSON.parse(file).credential_pool["xai-oauth"][0].access_token;

/** The digest by which the lab's provider reports the key that arrived. */
async function stored(provider: "nous" | "xai"): Promise<string> {
  const token = tokenOf(provider, await inHost(host, `cat ${auth}`));
  return `present:${createHash("sha256").update(token).digest("hex").slice(0, 12)}`;
}

/** Asks the proxy through an SSH connection, as the gateway does, with another key. */
async function asked(port: number, path: string, body?: object) {
  const connection = await connectTo(home, host);
  try {
    const to = { connection, port, open: () => connection.forward(port) };
    const reply = await ask(to, {
      method: body ? "POST" : "GET",
      path,
      signal: new AbortController().signal,
      headers: { authorization: "Bearer a-key-of-the-client", "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: reply.status, headers: reply.headers, text: await text(reply.body) };
  } finally {
    connection.close();
  }
}

const hello = { model: "echo-1", messages: [{ role: "user", content: "hello" }] };

describe("a proxy is refused", () => {
  it("for a version that has none", async () => {
    const { code, stderr } = await proxy("ben", "enable", "--provider", "nous");
    expect(code).toBe(17);
    expect(stderr).toContain("versions >=2026.5.16 do");
  });

  it("for an agent that is not logged in, with the login command", async () => {
    const before = hostStore(home).read();
    const { code, stderr } = await agent("proxy", "ada", "enable", "--provider", "nous");
    expect(code).toBe(8);
    expect(stderr).toContain("ada is not logged in at Nous Portal; nothing was changed");
    expect(stderr).toContain("its program reports: not logged in");
    expect(stderr).toContain("clm agent shell ada");
    expect(stderr).toContain("clm agent exec ada -- hermes auth add nous --type oauth --no-browser");
    expect(hostStore(home).read()).toEqual(before);
    expect(await left()).toBe("");
    const status = await proxy("ada", "status");
    expect(status.code).toBe(0);
    expect(status.told).toMatchObject({ proxy: null, serves: false, unit: null });
    expect(status.told.logins).toContainEqual({ provider: "nous", state: "not logged in", ready: false });
  });
});

describe("a proxy", () => {
  beforeAll(async () => {
    await login("auth", "add", "nous", "--type", "oauth", "--no-browser");
  });

  it("in a dry run is only reported", async () => {
    const { code, told } = await proxy("ada", "enable", "--provider", "nous", "--dry-run");
    expect(code).toBe(0);
    expect(told.changes.map(({ what }: { what: string }) => what)).toEqual([`unit ${service}`]);
    expect(recorded()).toBeUndefined();
    expect(await left()).toBe("");
  });

  it("is enabled, proven and recorded", async () => {
    const told = await enabled("--provider", "nous");
    expect(told).toMatchObject({
      proxy: { provider: "nous", port: 8700, unit: service, model: "ada/proxy/MODEL" },
      upstream: "Nous Portal",
    });
    expect(recorded()).toEqual({ provider: "nous", port: 8700 });
    expect(await inHost(host, `systemctl is-enabled ${service}; systemctl is-active ${service}`)).toBe(
      "enabled\nactive\n",
    );
  });

  it("has the same sandbox as the agent, and systemd accepts its unit without a warning", async () => {
    const exposure = async (unit: string) =>
      Number(/: (\d+\.\d) /.exec(await inHost(host, `systemd-analyze security --no-pager ${unit} | tail -1`))?.[1]);
    expect(await exposure(service)).toBeLessThanOrEqual(await exposure(unitOf("ada")));
    expect(await inHost(host, `systemd-analyze verify ${path} 2>&1 | grep -F ${service} || true`)).toBe("");
    expect((await inHost(host, `ps -o user= -p ${await pid()}`)).trim()).toBe("ada");
  });

  it("listens only on the loopback", async () => {
    const hex = (8700).toString(16).toUpperCase();
    const heard = await inHost(
      host,
      `grep -h ':${hex} [0-9A-F]*:0000 0A' /proc/net/tcp /proc/net/tcp6 | awk '{ print $2 }'`,
    );
    expect(heard.trim()).toBe(`0100007F:${hex}`);
  });

  it("replaces the client's token with the stored one, streams, and accepts only known paths", async () => {
    const models = await asked(8700, "/v1/models");
    expect(models.status).toBe(200);
    expect(models.headers["x-echo-authorization"]).toBe(await stored("nous"));
    const chat = await asked(8700, "/v1/chat/completions", hello);
    expect(JSON.parse(chat.text).choices[0].message.content).toBe("echo: hello");
    expect(chat.headers["x-echo-authorization"]).toBe(await stored("nous"));
    const stream = await asked(8700, "/v1/chat/completions", { ...hello, stream: true });
    expect(stream.text).toContain("data: [DONE]");
    const other = await asked(8700, "/v1/responses", { model: "echo-1", input: "hello" });
    expect(other.status).toBe(404);
    expect(JSON.parse(other.text).error.code).toBe("path_not_allowed");
    const large = await asked(8700, "/v1/chat/completions", { ...hello, pad: "x".repeat(1_048_576) });
    expect(large.status).toBe(413);
  });

  it("serves every user of its host without a key, as documented", async () => {
    const told = await inHost(
      host,
      "setpriv --reuid 65534 --clear-groups curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8700/v1/models",
    );
    expect(told).toBe("200");
    expect((await agent("proxy", "ada", "status")).stderr).toContain(`every user of ${host} can use 127.0.0.1:8700`);
  });

  it("enabled again changes nothing, with the provider named or not", async () => {
    const before = await pid();
    expect((await enabled("--provider", "nous")).changes).toEqual([]);
    expect((await enabled()).changes).toEqual([]);
    expect(await pid()).toBe(before);
  });

  it("has a status: the unit, the owner of the port, the login, the upstream", async () => {
    const { code, told } = await proxy("ada", "status");
    expect(code).toBe(0);
    expect(told).toMatchObject({ serves: true, unit: "active (running)", enabled: true, upstream: "Nous Portal" });
    expect(told.held_by).toEqual([expect.objectContaining({ own: true, user: "ada", pid: Number(await pid()) })]);
    expect(told.logins).toContainEqual({ provider: "nous", state: "ready", ready: true });
    const shown = JSON.parse((await agent("show", "ada", "-o", "json")).stdout);
    expect(shown.proxy).toEqual({ provider: "nous", port: 8700 });
  });

  it("reserves its unit's name and its port", async () => {
    const install = ["install", "--type", "hermes", "--host", host, "--version", "2026.7.1+standin"];
    const named = await agent(...install, "--name", "ada-proxy");
    expect(named.code).not.toBe(0);
    expect(named.stderr).toContain(service);
    const placed = await agent(...install, "--name", "cleo", "--port", "8700");
    expect(placed.code).not.toBe(0);
    expect(placed.stderr).toContain("8700");
  });

  it("keeps running when the agent stops, and restarts when it is killed", async () => {
    const before = await pid();
    expect((await agent("stop", "ada")).code).toBe(0);
    expect(await pid()).toBe(before);
    expect((await asked(8700, "/health")).status).toBe(200);
    expect((await agent("start", "ada")).code).toBe(0);
    await inHost(host, `kill -KILL ${before}`);
    await until(`[ "$(curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8700/health)" = 200 ]`);
    expect(await pid()).not.toBe(before);
  });

  it.each([
    ["stopped", `systemctl stop ${service}`],
    ["disabled", `systemctl disable --quiet ${service}`],
    ["edited", `sed -i 's/^UMask=.*/UMask=0000/' ${path}; systemctl daemon-reload`],
    [
      "gone",
      `systemctl stop ${service}; rm -f ${path} /etc/systemd/system/*.wants/${service}; systemctl daemon-reload`,
    ],
  ])("is found by diff and repaired by sync when it was %s", async (_, damage) => {
    await inHost(host, damage);
    const { code, stdout } = await agent("diff", "ada");
    expect(code).toBe(3);
    expect(stdout).toContain(service);
    const synced = await agent("sync", "ada");
    expect(synced.code, synced.stderr).toBe(0);
    expect((await agent("diff", "ada")).code).toBe(0);
    await until(`[ "$(curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8700/health)" = 200 ]`);
  });

  it("switches to another provider with the same unit and port", async () => {
    await login("auth", "add", "xai-oauth", "--type", "oauth");
    const before = await pid();
    const told = await enabled("--provider", "xai");
    expect(told).toMatchObject({ proxy: { provider: "xai", port: 8700 }, upstream: "xAI Grok OAuth" });
    expect(recorded()).toEqual({ provider: "xai", port: 8700 });
    expect(await pid()).not.toBe(before);
    const reply = await asked(8700, "/v1/responses", { model: "echo-1", input: "hello" });
    expect(reply.status).toBe(200);
    expect(reply.headers["x-echo-authorization"]).toBe(await stored("xai"));
    expect((await enabled("--provider", "nous")).proxy).toMatchObject({ provider: "nous", port: 8700 });
  });

  it("that lost its login stops without restarting, and names the login command", async () => {
    await inHost(host, `mv ${auth} ${auth}.away; systemctl restart ${service}`);
    try {
      await until(`[ "$(systemctl is-failed ${service})" = failed ]`);
      const { code, told, stderr } = await proxy("ada", "status");
      expect(code).not.toBe(0);
      expect(told).toMatchObject({ serves: false, unit: "failed (failed)" });
      expect(stderr).toContain("Not logged into Nous Portal");
      expect((await proxy("ada", "enable")).code).toBe(8);
    } finally {
      await inHost(host, `mv ${auth}.away ${auth}`);
    }
    await enabled();
  });

  it("is disabled, and the agent stays logged in", async () => {
    const { code, told } = await proxy("ada", "disable");
    expect(code).toBe(0);
    expect(told.changes).toHaveLength(1);
    expect(recorded()).toBeUndefined();
    expect(await left()).toBe("");
    expect((await proxy("ada", "disable")).told.changes).toEqual([]);
    expect((await proxy("ada", "status")).told.logins).toContainEqual({
      provider: "nous",
      state: "ready",
      ready: true,
    });
  });

  it("takes another port when the first is in use", async () => {
    await inHost(
      host,
      `systemd-run --quiet --unit squatter python3 -m http.server --bind 127.0.0.1 8700
       for n in $(seq 100); do curl -s -o /dev/null http://127.0.0.1:8700/ && exit 0; sleep 0.1; done; exit 1`,
    );
    try {
      expect((await enabled("--provider", "nous")).proxy.port).toBe(8701);
    } finally {
      await inHost(host, "systemctl stop squatter");
    }
    expect((await enabled()).proxy.port).toBe(8701);
    expect((await proxy("ada", "disable")).code).toBe(0);
  });

  it("whose set-up was interrupted after it was recorded is completed by the same command, and removed", async () => {
    const wanted = { provider: "nous", port: 8702 };
    await recordAgent(hostStore(home), { host, name: "ada" }, (now) => now && { ...now, proxy: wanted });
    expect((await proxy("ada", "status")).code).not.toBe(0);
    expect((await enabled()).proxy.port).toBe(8702);
    expect((await asked(8702, "/health")).status).toBe(200);
    // Killed at different moments: the next command finds it in any state.
    for (const wait of [300, 900, 1500]) {
      await clm(["agent", "proxy", "ada", "disable"], {
        home,
        during: (child) => setTimeout(() => child.kill("SIGKILL"), wait),
      });
      expect((await enabled("--provider", "nous")).proxy.provider).toBe("nous");
    }
    expect((await asked(recorded()?.port ?? 0, "/health")).status).toBe(200);
  });

  it("is removed with its agent, and leaves nothing", async () => {
    expect((await lab.remove("ada")).code).toBe(0);
    expect(await left()).toBe("");
    expect(await inHost(host, "getent passwd ada || true")).toBe("");
  });
});
