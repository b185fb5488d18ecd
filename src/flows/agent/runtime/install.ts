import { createReadStream, statSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { change } from "../../../agents/plan/change.js";
import { fillPaths } from "../../../agents/plan/runtime.js";
import { Fault } from "../../../errors.js";
import { diskFull } from "../../../remote/disk-full.js";
import { run } from "../../../remote/run.js";
import { lastLines, tailOf } from "../../../text/last-lines.js";
import { LineReader } from "../../../text/line-reader.js";
import { own } from "../../../text/own-property.js";
import type { Progress } from "../../../ui/ui.js";
import { accountFault, commandInSandbox, runAsAgent } from "../run-as-agent.js";
import script from "./install.sh?raw";
import { type Pin, packageFor, pinFor } from "./package.js";
import type { RuntimeTarget } from "./runtime-target.js";

// Seconds for a hundred megabytes over a slow line.
const timeout = 1800;

/** `file` is a local copy of the package. */
export async function installation(target: RuntimeTarget, version: string, file: string | undefined) {
  const { session, root, type, name } = target;
  const { stdout } = await run(root, "uname -m", { signal: session.signal, timeout: 30_000 });
  const pin = pinFor(type, version, stdout.trim());
  return { file, pin, changes: [change(`${name} ${pin.release} in ${pathsOf(target).directory}`, "missing")] };
}

/** The host needs no registry, and nothing runs as root. Returns the launcher's previous target, or "". */
export async function installRuntime(
  target: RuntimeTarget,
  { file, pin }: { file: string | undefined; pin: Pin },
  progress: Progress,
): Promise<string> {
  const { session, agent, resolved, name, type, runtime } = target;
  const path = await packageFor(session, name, type, pin, file);
  const { directory, launcher } = pathsOf(target);
  const digest = Buffer.from(pin.integrity.replace(/^sha512-/, ""), "base64").toString("hex");
  const { size } = statSync(path);
  const words = ["install", directory, launcher, pin.release, pin.program, digest, String(size), runtime.homeVariable];
  const root = (await session.pool.connect(agent.host)).as("root");
  // A margin for a host that does not end it.
  const late = AbortSignal.timeout((timeout + 60) * 1000);
  const signal = AbortSignal.any([session.signal, late]);
  const process = await root.spawn(commandInSandbox(agent, resolved, { script, words, seconds: timeout }), { signal });
  const complaint = tailOf(process.stderr);
  let answer = "";
  const output = new LineReader(
    (line) => {
      answer = line;
      // The package arrived whole. Without this word, the host removes it again.
      if (line === "ready") process.stdin.end("go\n");
    },
    { maxBytes: 65_536 },
  );
  process.stdout.on("data", (bytes: Buffer) => output.push(bytes));
  let sent = 0;
  const content = createReadStream(path).on("data", (chunk) => {
    sent += chunk.length;
    progress.update(`${inMegabytes(sent)} of ${inMegabytes(size)} MB`);
  });
  await Promise.all([process.done, pipeline(content, process.stdin, { end: false }).catch(() => {})]);
  output.end();
  session.signal.throwIfAborted();
  if (answer.startsWith("installed")) return answer.replace(/^installed ?/, "");
  throw installFault(target, pin, answer, complaint());
}

/** Without a target, removes the launcher. */
export async function switchTo(runtime: RuntimeTarget, target: string): Promise<void> {
  const [answer] = await runScript(runtime, "switch", [target]);
  if (answer !== "switched") throw new Fault("remote-failed", `${target} is no longer on ${runtime.agent.host.name}`);
}

/** Removes other versions that clm installed. */
export async function keepOnly(runtime: RuntimeTarget, version: string): Promise<void> {
  await runScript(runtime, "prune", [version]);
}

function runScript(runtime: RuntimeTarget, action: string, words: string[]): Promise<string[]> {
  const { session, agent } = runtime;
  const { directory, launcher } = pathsOf(runtime);
  return runAsAgent(session, agent, { script, words: [action, directory, launcher, ...words], about: directory });
}

const pathsOf = ({ resolved, type }: RuntimeTarget) => ({
  directory: fillPaths(resolved, type.directory),
  launcher: fillPaths(resolved, type.launcher),
});

const inMegabytes = (bytes: number): number => Math.round(bytes / 1e6);

function installFault(target: RuntimeTarget, { release }: Pin, answer: string, complaint: string): Fault {
  const { agent, type } = target;
  const { launcher } = pathsOf(target);
  if (answer === "no-user" || answer === "foreign-user") return accountFault(agent, answer);
  if (answer === "foreign") {
    const what = `${launcher} on ${agent.host.name} was not put there by clm; nothing was changed`;
    return new Fault("already-exists", what, {
      why: `it may be a ${type.title} of your own`,
      next: `clm agent exec ${agent.ref} -- mv ${launcher} ${launcher}.own`,
    });
  }
  const what = `${type.title} ${release} could not be installed on ${agent.host.name}`;
  return new Fault(diskFull.test(complaint) ? "host-full" : "remote-failed", what, {
    why: own(troubles, answer) ?? lastLines(complaint, 3),
    next: `clm host check ${agent.host.name}`,
  });
}

const troubles: Record<string, string> = {
  damaged: "the package was damaged on the way",
  busy: "another installation is running",
};
