import { createReadStream, statSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { type Change, change } from "../../../agents/plan/change.js";
import { fillPaths } from "../../../agents/plan/runtime.js";
import { Fault } from "../../../errors.js";
import type { Process } from "../../../remote/process.js";
import { run } from "../../../remote/run.js";
import { lastLines } from "../../../text/last-lines.js";
import { own } from "../../../text/own-property.js";
import type { Progress } from "../../../ui/ui.js";
import { accountFault, commandInSandbox, runAsAgent } from "../run-as-agent.js";
import script from "./install.sh?raw";
import { type Pin, packageFor, pinFor } from "./package.js";
import type { RuntimeTarget } from "./runtime-target.js";

// Seconds for a hundred megabytes over a slow line.
const timeout = 1800;

export interface Installation {
  /** A local copy of the package. */
  file: string | undefined;
  pin: Pin;
  changes: Change[];
}

export async function installation(
  { session, root, resolved, type, name }: RuntimeTarget,
  version: string,
  file: string | undefined,
): Promise<Installation> {
  const { stdout } = await run(root, "uname -m", { signal: session.signal, timeout: 30_000 });
  const pin = pinFor(type, version, stdout.trim());
  return { file, pin, changes: [change(`${name} ${pin.release} in ${fillPaths(resolved, type.place)}`, "missing")] };
}

/** The host needs no registry, and nothing runs as root. Returns the launcher's previous target, or "". */
export async function installRuntime(
  target: RuntimeTarget,
  { file, pin }: Installation,
  progress: Progress,
): Promise<string> {
  const { session, name, type } = target;
  const path = await packageFor(session, name, type, pin, file);
  return send(target, pin, path, (sent, size) => progress.update(`${inMegabytes(sent)} of ${inMegabytes(size)} MB`));
}

/** Without a target, removes the launcher. */
export async function switchTo(runtime: RuntimeTarget, target: string): Promise<void> {
  const [answer] = await runScript(runtime, "switch", [target]);
  if (answer !== "switched")
    throw new Fault("remote-failed", `${target} is not on ${runtime.agent.host.name} any more`);
}

/** Removes other versions that clm installed. */
export async function keepOnly(runtime: RuntimeTarget, version: string): Promise<void> {
  await runScript(runtime, "prune", [version]);
}

function runScript(runtime: RuntimeTarget, action: string, words: string[]): Promise<string[]> {
  const { session, agent } = runtime;
  const { place, launcher } = pathsOf(runtime);
  return runAsAgent(session, agent, { script, words: [action, place, launcher, ...words], about: place });
}

const pathsOf = ({ resolved, type }: RuntimeTarget) => ({
  place: fillPaths(resolved, type.place),
  launcher: fillPaths(resolved, type.launcher),
});

const inMegabytes = (bytes: number): number => Math.round(bytes / 1e6);

async function send(
  runtime: RuntimeTarget,
  { release, program, integrity }: Pin,
  path: string,
  tell: (sent: number, size: number) => void,
): Promise<string> {
  const { session, agent, resolved } = runtime;
  const { title } = runtime.type;
  const { place, launcher } = pathsOf(runtime);
  const digest = Buffer.from(integrity.replace(/^sha512-/, ""), "base64").toString("hex");
  const { size } = statSync(path);
  const words = ["install", place, launcher, release, program, digest, String(size), runtime.runtime.homeVariable];
  const root = (await session.pool.connect(agent.host)).as("root");
  // A margin for a host that does not end it.
  const late = AbortSignal.timeout((timeout + 60) * 1000);
  const signal = AbortSignal.any([session.signal, late]);
  const process = await root.spawn(commandInSandbox(agent, resolved, { script, words, seconds: timeout }), { signal });
  let sent = 0;
  const file = createReadStream(path).on("data", (chunk) => {
    sent += chunk.length;
    tell(sent, size);
  });
  // The package arrived whole. Without this word, the host removes it again.
  const onReady = () => process.stdin.end("go\n");
  const sending = pipeline(file, process.stdin, { end: false }).catch(() => {});
  const [output] = await Promise.all([collect(process, onReady), sending]);
  session.signal.throwIfAborted();
  const answer = output.stdout.trim().split("\n").at(-1) ?? "";
  if (answer.startsWith("installed")) return answer.replace(/^installed ?/, "");
  if (answer === "no-user" || answer === "stranger") throw accountFault(agent, answer);
  if (answer === "foreign") {
    throw new Fault(
      "already-exists",
      `${launcher} on ${agent.host.name} was not put there by clm; nothing was changed`,
      {
        why: `it may be a ${title} of your own`,
        next: `clm agent exec ${agent.ref} -- mv ${launcher} ${launcher}.own`,
      },
    );
  }
  const full = /No space left on device|Disk quota exceeded/.test(output.stderr);
  throw new Fault(
    full ? "host-full" : "remote-failed",
    `${title} ${release} could not be installed on ${agent.host.name}`,
    {
      why: own(troubles, answer) ?? lastLines(output.stderr, 3),
      next: `clm host check ${agent.host.name}`,
    },
  );
}

const troubles: Record<string, string> = {
  damaged: "the package was damaged on the way",
  busy: "another installation is running",
};

// Characters of output that are kept.
const maxOutput = 65_536;

async function collect(
  { stdout, stderr, done }: Process,
  onReady: () => void,
): Promise<{ stdout: string; stderr: string }> {
  const output = { stdout: "", stderr: "" };
  const listen = async (name: keyof typeof output, stream: Process["stdout"]) => {
    for await (const chunk of stream.setEncoding("utf8")) {
      const wasReady = isReady(output.stdout);
      output[name] = (output[name] + chunk).slice(-maxOutput);
      if (!wasReady && isReady(output.stdout)) onReady();
    }
  };
  await Promise.all([listen("stdout", stdout), listen("stderr", stderr), done]);
  return output;
}

const isReady = (output: string): boolean => /^ready$/m.test(output);
