import { type ChildProcess, execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { Fault } from "../../src/errors.js";
import { keepTunnelOpen } from "../../src/flows/tunnel/keep-tunnel-open.js";
import { openSecrets } from "../../src/state/secrets.js";
import { unitOf } from "./agents.js";
import { clm, inHost, program, type Result } from "./clm.js";
import { connectTo } from "./connect.js";
import { labFixture, withEcho } from "./fixture.js";

const host = "trial-1";
const newer = "trial13-1";
/** A directory with a `clm` in it, for commands that a shell runs. */
let bin: string;

const { home } = labFixture({
  agents: [
    { host, name: "ada", configure: [...withEcho, "--skip-chat"] },
    { host: newer, name: "ben", version: "2026.5.7+standin" },
  ],
});
beforeAll(async () => {
  bin = join(home, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "clm"), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`);
  chmodSync(join(bin, "clm"), 0o755);
});

const bash = (line: string) =>
  promisify(execFile)("bash", ["-c", `set -o pipefail; ${line}`], {
    env: { ...process.env, CLM_HOME: home, PATH: `${bin}:${process.env.PATH}` },
    maxBuffer: 1 << 24,
  });

interface Event {
  event: string;
  url: string;
  curl: string;
  error?: { message: string };
}

const begun: ChildProcess[] = [];
afterEach(() => {
  for (const child of begun.splice(0)) child.kill("SIGKILL");
});

/** A command that runs until it is stopped, and prints events as lines of JSON. */
function begin(...words: string[]) {
  let child: ChildProcess | undefined;
  let told = "";
  let taken = 0;
  const result = clm([...words, "-o", "json"], {
    home,
    during: (started) => {
      child = started;
      begun.push(started);
      started.stdout?.on("data", (chunk) => {
        told += chunk;
      });
    },
  });
  let over: Result | undefined;
  void result.then((ended) => {
    over = ended;
  });
  return {
    result,
    /** The next event of that name, after those already returned. */
    async next(name: string): Promise<Event> {
      for (;;) {
        const events = told
          .split("\n")
          .slice(0, -1)
          .map((line): Event => JSON.parse(line));
        const at = events.findIndex(({ event }, index) => index >= taken && event === name);
        if (at >= 0) {
          taken = at + 1;
          return events[at] as Event;
        }
        if (over) throw new Error(`ended with ${over.code} before '${name}':\n${over.stdout}${over.stderr}`);
        await sleep(50);
      }
    },
    stop: (signal: NodeJS.Signals = "SIGINT") => {
      child?.kill(signal);
      return result;
    },
  };
}

const listens = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });

const cutSsh = (where: string) => inHost(where, "pkill -KILL -f '[s]shd.*: clm'");

describe("tunnel", () => {
  it("prints a line that works as it is, through a lost connection and a stopped agent", async () => {
    const { next, stop } = begin("tunnel", "ada");
    const { url, curl } = await next("open");
    const key = openSecrets(home).get({ host, type: "hermes", agent: "ada" }, "HERMES_API_SERVER_KEY")?.reveal() ?? "";
    expect(curl).toBe(`clm agent key ada --header | curl -sH @- ${url}/v1/models`);
    const models = async () => JSON.parse((await bash(curl)).stdout).data[0].id;
    expect(await models()).toBe("hermes-agent");

    const body = JSON.stringify({ stream: true, messages: [{ role: "user", content: "Grüße ".repeat(5000) }] });
    writeFileSync(join(home, "body.json"), body);
    const { stdout } = await bash(
      `clm agent key ada --header | curl -sNH @- -H 'Content-Type: application/json' --data-binary @${home}/body.json ${url}/v1/chat/completions`,
    );
    expect(stdout).toMatch(/^data: [\s\S]*Grüße[\s\S]*\ndata: \[DONE\]\s*$/);

    await cutSsh(host);
    expect((await next("lost")).error?.message).toBe(`lost the connection to ${host}`);
    expect((await next("back")).url).toBe(url);
    expect(await models()).toBe("hermes-agent");

    await inHost(host, `systemctl stop ${unitOf("ada")}`);
    await expect(bash(curl)).rejects.toMatchObject({ code: 56 });
    expect((await next("lost")).error?.message).toBe("ada is stopped");
    await inHost(host, `systemctl start ${unitOf("ada")}`);
    await next("back");
    expect(await models()).toBe("hermes-agent");

    const { code, stdout: events, stderr } = await stop();
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(events.trim().split("\n").at(-1) ?? "")).toMatchObject({ event: "closed", host, name: "ada" });
    expect(await listens(url)).toBe(false);
    for (const text of [events, stderr, readFileSync(join(home, "audit.jsonl"), "utf8")])
      expect(text).not.toContain(key);
    expect(readFileSync(join(home, "audit.jsonl"), "utf8")).toContain(`"verb":"agent key","target":"${host}/ada"`);
  });

  it("is not opened to a stopped agent, nor to another process on its port", async () => {
    await inHost(host, `systemctl stop ${unitOf("ada")}`);
    const stopped = await clm(["tunnel", "ada"], { home });
    expect([stopped.code, stopped.stdout]).toEqual([8, ""]);
    expect(stopped.stderr).toContain("next: clm agent start ada");
    await inHost(
      host,
      "systemd-run -q --unit trial-thief python3 -m http.server --bind 127.0.0.1 8642; for n in $(seq 50); do curl -s -o /dev/null 127.0.0.1:8642 && exit 0; sleep 0.1; done; exit 1",
    );
    try {
      const stolen = await clm(["tunnel", "ada"], { home });
      expect([stolen.code, stolen.stdout]).toEqual([1, ""]);
      expect(stolen.stderr).toMatch(/another process has port 8642[\s\S]*next: clm agent doctor ada/);
    } finally {
      await inHost(host, `systemctl stop trial-thief; systemctl start ${unitOf("ada")}`);
    }
  });

  it("uses the requested port, or reports that it is in use", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    const taken = await clm(["tunnel", "ada", "--port", String(port)], { home });
    other.close();
    expect([taken.code, taken.stdout]).toEqual([5, ""]);
    expect(taken.stderr).toMatch(/without --port, clm picks a free one[\s\S]*next: clm tunnel ada$/m);
  });

  it("passes bytes unchanged, many streams at once, half-closed too; a slow reader fills no memory", async () => {
    // With its default queue of 5, the kernel drops some of 30 connections at once, which looks like an empty answer.
    const echo = `import socketserver, os
class Echo(socketserver.StreamRequestHandler):
  def handle(self):
    first = self.rfile.read(1)
    if first == b"f":
      sent = 0
      try:
        while True:
          self.wfile.write(bytes(65536)); sent += 65536
          open("/run/trial-flood", "w").write(str(sent))
      except OSError: return
    while True:
      data = self.rfile.read1(65536)
      if not data: break
      self.wfile.write(data)
class Server(socketserver.ThreadingTCPServer):
  daemon_threads = True
  request_queue_size = 64
Server(("127.0.0.1", 8777), Echo).serve_forever()`;
    await inHost(
      host,
      `systemd-run -q --unit trial-echo python3 -c '${echo}'; for n in $(seq 50); do ss -Hltn | grep -q 127.0.0.1:8777 && exit 0; sleep 0.1; done; exit 1`,
    );
    const stop = new AbortController();
    const connection = await connectTo(home, host);
    let port = 0;
    const done = keepTunnelOpen({
      local: { preferred: 0, next: "" },
      connect: async () => ({
        connection,
        open: () => connection.forward(8777),
        close: async () => {},
        ended: connection.closed.then(() => connection.lost()),
      }),
      tell: (happening) => {
        if (happening.event === "open") port = happening.port;
        if (happening.event === "lost") stop.abort(new Fault("interrupted", "enough"));
      },
      signal: stop.signal,
    });
    try {
      while (port === 0) await sleep(20);
      const road = () => connect({ port, host: "127.0.0.1", allowHalfOpen: true });
      const sha = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
      const there = async (bytes: Buffer) => {
        const socket = road();
        socket.end(Buffer.concat([Buffer.from("e"), bytes]));
        const heard: Buffer[] = [];
        for await (const chunk of socket) heard.push(chunk);
        return sha(Buffer.concat(heard));
      };
      const all = Array.from({ length: 30 }, () => randomBytes(1_000_000));
      const idle = road();
      idle.write("f");
      await once(idle, "readable");
      expect(await Promise.all(all.map(there))).toEqual(all.map(sha));

      const sent = async () => Number(await inHost(host, "cat /run/trial-flood"));
      let before = -1;
      for (let now = await sent(); now !== before; now = await sent()) {
        before = now;
        await sleep(500);
      }
      expect(before).toBeLessThan(32 << 20);

      // Not with a Node socket, which takes a reset for an end when there is unread data.
      const cut = bash(
        `exec 3<>/dev/tcp/127.0.0.1/${port}; printf f >&3; head -c 1 <&3 >/dev/null; echo begun; cat <&3 >/dev/null`,
      );
      await once(cut.child.stdout as Readable, "data");
      connection.close();
      await expect(cut).rejects.toMatchObject({ stderr: expect.stringContaining("reset by peer") });
      await done;
    } finally {
      connection.close();
      await inHost(host, "systemctl stop trial-echo; rm -f /run/trial-flood");
    }
  });
});

describe("open", () => {
  const left = () =>
    inHost(
      newer,
      "for n in $(seq 80); do pgrep -f '[h]ermes dashboard' >/dev/null || break; sleep 0.1; done; pgrep -af '[h]ermes dashboard|[s]ystemd-run'; systemctl list-units --all --no-legend 'clm-exec-*'; ls /run/clm | grep exec; ss -Hltn | grep :91; true",
    );
  const title = async (url: string) => /<title>(.*)<\/title>/.exec(await (await fetch(url)).text())?.[1];

  it("shows the dashboard until Ctrl-C, even after a lost connection", async () => {
    const { next, stop } = begin("agent", "open", "ben");
    const { url } = await next("open");
    expect(await title(url)).toBe("Hermes Agent - Dashboard");
    const asked = "systemctl show -p User,ProtectHome,NoNewPrivileges 'clm-exec-*'; ss -Hltn | grep -c 127.0.0.1:9119";
    expect(await inHost(newer, asked)).toBe("User=ben\nProtectHome=tmpfs\nNoNewPrivileges=yes\n1\n");
    await cutSsh(newer);
    await next("lost");
    expect((await next("back")).url).toBe(url);
    expect(await title(url)).toBe("Hermes Agent - Dashboard");
    const { code, stderr } = await stop();
    expect([code, stderr]).toEqual([0, ""]);
    expect([await left(), await listens(url)]).toEqual(["", false]);
    expect(readFileSync(join(home, "audit.jsonl"), "utf8")).toContain(`"verb":"agent open","target":"${newer}/ben"`);
  });

  it("leaves nothing on the host when clm is killed", async () => {
    writeFileSync(join(bin, "xdg-open"), `#!/bin/sh\necho "$1" >'${home}/opened'\n`, { mode: 0o755 });
    const path = process.env.PATH;
    process.env.PATH = `${bin}:${path}`;
    const { next, stop } = begin("agent", "open", "ben", "--browser");
    process.env.PATH = path;
    const { url } = await next("open");
    expect(await title(url)).toBe("Hermes Agent - Dashboard");
    expect((await stop("SIGKILL")).signal).toBe("SIGKILL");
    expect(await left()).toBe("");
    expect(readFileSync(join(home, "opened"), "utf8")).toBe(`${url}\n`);
  });

  it("reports why the dashboard did not start, and leaves nothing", async () => {
    await inHost(
      newer,
      "mv /home/ben/.local/bin/hermes /home/ben/hermes; printf '#!/bin/sh\\necho no npm here >&2; exit 3\\n' >/home/ben/.local/bin/hermes; chmod 755 /home/ben/.local/bin/hermes",
    );
    try {
      const { code, stdout, stderr } = await clm(["agent", "open", "ben"], { home });
      expect([code, stdout]).toEqual([16, ""]);
      expect(stderr).toMatch(
        /the dashboard of ben on trial13-1 ended[\s\S]*no npm here[\s\S]*next: clm agent doctor ben/,
      );
      expect(await left()).toBe("");
    } finally {
      await inHost(newer, "mv /home/ben/hermes /home/ben/.local/bin/hermes");
    }
  });

  it("in a dry run only reports", async () => {
    const { code, stderr } = await clm(["agent", "open", "ben", "--dry-run"], { home });
    expect([code, stderr]).toEqual([0, "would open the dashboard of trial13-1:hermes:ben\n"]);
  });
});
