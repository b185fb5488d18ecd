import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Standin, standins } from "../../../src/lab/standin.js";

const python = execFileSync("python3", ["-c", "import sys; print(sys.executable)"], { encoding: "utf8" }).trim();
const code = "templates/standin";

// As systemd hands it over: a socket that listens, as descriptor 3.
const socketed = `
import os, socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.execv(sys.executable, [sys.executable, "${code}/echo.py"])`;

// Replaced by stubs: they are not tested here, and this machine may not have them.
const yaml = "import json\nYAMLError = ValueError\nsafe_load = json.loads\n";
const dotenv = `import os
def load_dotenv(path, **_):
    os.environ.update(line.split("=", 1) for line in path.read_text().splitlines())
`;

export const key = "0123456789abcdef".repeat(4);

export interface Reply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
  /** On a connection that an earlier request was answered on. */
  reused: boolean;
}

/** Asks for JSON on one connection that is kept. */
export function asker(port: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return async (path: string, body?: unknown, method = body === undefined ? "GET" : "POST"): Promise<Reply> => {
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
    const asked = request({ host: "127.0.0.1", port, path, method, agent, headers });
    asked.end(body === undefined ? undefined : JSON.stringify(body));
    const [answer] = await once(asked, "response");
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    return { status: answer.statusCode, headers: answer.headers, body: text, reused: asked.reusedSocket };
  };
}

/** Sends the body only after 100 Continue, and returns the answer. */
async function expecting(port: number, path: string, body: unknown): Promise<string> {
  const text = JSON.stringify(body);
  const socket = connect(port, "127.0.0.1").setEncoding("utf8");
  const head = [`POST ${path} HTTP/1.1`, "Host: x", `Authorization: Bearer ${key}`, "Expect: 100-continue"];
  socket.write([...head, "Connection: close", `Content-Length: ${text.length}`, "", ""].join("\r\n"));
  let heard = "";
  for await (const chunk of socket) {
    if (heard === "") socket.write(text);
    heard += chunk;
  }
  return heard;
}

/** Asks for a stream, and goes away as soon as `text` has come. What came until then. */
async function leavingAt(port: number, path: string, body: unknown, text: string): Promise<string> {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  const asked = request({ host: "127.0.0.1", port, path, method: "POST", headers });
  asked.end(JSON.stringify(body));
  const [answer] = await once(asked, "response");
  let heard = "";
  for await (const chunk of answer) {
    heard += chunk;
    if (heard.includes(text)) break;
  }
  asked.destroy();
  return heard;
}

/** The lab's echo, run past the lab. */
export async function startEcho() {
  const child = spawn(python, ["-c", socketed], { stdio: ["ignore", "pipe", "ignore"] });
  const [port] = await once(createInterface(child.stdout), "line");
  return { port: Number(port), ask: asker(Number(port)), stop: () => ended(child) };
}

/** A stand-in of that release, run without the lab, whose provider is the echo on that port. */
export async function startStandin(version: Standin, echo: number) {
  const home = mkdtempSync(join(tmpdir(), "clm-standin-"));
  const [modules, data, apart] = [join(home, "modules"), join(home, "data"), join(home, "apart")];
  mkdirSync(join(modules, "hermes_cli"), { recursive: true });
  mkdirSync(join(apart, "sessions"), { recursive: true });
  mkdirSync(data);
  for (const name of readdirSync(`${code}/hermes`).filter((each) => each.endsWith(".py"))) {
    writeFileSync(join(modules, "hermes_cli", name), readFileSync(`${code}/hermes/${name}`));
  }
  const release = `__version__ = "${standins[version].reports}"\n__release_date__ = "${version}"\n`;
  writeFileSync(join(modules, "hermes_cli/__init__.py"), release);
  writeFileSync(join(modules, "yaml.py"), yaml);
  writeFileSync(join(modules, "dotenv.py"), dotenv);
  const port = await freePort();
  const configure = (directory: string, name: string) => {
    const model = { provider: "custom", base_url: `http://127.0.0.1:${echo}/v1`, default: name, api_key: "none" };
    writeFileSync(join(directory, "config.yaml"), JSON.stringify({ model, agent: { api_max_retries: 1 } }));
  };
  for (const directory of [data, apart]) configure(directory, "echo");
  writeFileSync(join(data, ".env"), `API_SERVER_KEY=${key}\nAPI_SERVER_PORT=${port}\n`);
  const env = { ...process.env, HOME: home, HERMES_HOME: data, PYTHONPATH: modules, PYTHONDONTWRITEBYTECODE: "1" };
  const child = spawn(python, ["-m", "hermes_cli.main", "gateway", "run", "-v"], {
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  await saying(child, "Gateway running");
  return {
    port,
    ask: asker(port),
    /** Sets its model: the name tells the echo how to fail. */
    useModel: (name: string) => configure(data, name),
    expecting: (path: string, body: unknown) => expecting(port, path, body),
    leavingAt: (path: string, body: unknown, text: string) => leavingAt(port, path, body, text),
    switched: (words: string) => writeFileSync(join(data, ".standin"), words),
    apart,
    /** Runs Python with the stand-in's modules and an unused home, and parses its output as JSON. */
    python: (text: string, more: NodeJS.ProcessEnv = {}) =>
      JSON.parse(
        execFileSync(python, ["-c", text], {
          env: { ...env, HERMES_HOME: apart, ...more },
          stdio: ["ignore", "pipe", "ignore"],
          encoding: "utf8",
        }),
      ),
    async stop() {
      await ended(child);
      rmSync(home, { recursive: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

async function saying(child: ChildProcess, text: string): Promise<void> {
  let said = "";
  for await (const line of createInterface(child.stderr as NodeJS.ReadableStream)) {
    said += `${line}\n`;
    if (!line.includes(text)) continue;
    child.stderr?.resume();
    return;
  }
  throw new Error(`it ended without '${text}':\n${said}`);
}

async function ended(child: ChildProcess): Promise<void> {
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}
