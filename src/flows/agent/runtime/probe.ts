import { Readable } from "node:stream";
import type { ProbeCommand, RuntimeReport } from "../../../agents/agent-runtime.js";
import { Fault } from "../../../errors.js";
import { lastLines } from "../../../text/last-lines.js";
import { execOnLeash } from "../exec/exec.js";
import type { AgentTarget } from "../target.js";
import type { RuntimeTarget } from "./runtime-target.js";

/** Seconds: more than everything the probe waits for together, except MCP servers. */
const timeout = 300;
/** Characters of output that are kept. */
const maxOutput = 4_000_000;

/** Runs with the user, `.env` and sandbox of the service. */
export async function probeRuntime(
  { session, runtime, type }: Pick<RuntimeTarget, "session" | "runtime" | "type">,
  target: AgentTarget,
  { words, input, seconds }: ProbeCommand,
): Promise<RuntimeReport> {
  const { agent } = target;
  const output = { stdout: "", stderr: "" };
  const decoder = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  const { code } = await execOnLeash(session, target, {
    command: words,
    input: Readable.from([Buffer.from(input)]),
    properties: [`RuntimeMaxSec=${timeout + seconds}`],
    // For a host that does not stop it.
    timeout: (timeout + seconds + 30) * 1000,
    onOutput: (_, stream, bytes) => {
      output[stream] = (output[stream] + decoder[stream].decode(bytes, { stream: true })).slice(-maxOutput);
    },
  });
  const report = runtime.parseReport(output.stdout);
  if (report) return redacted(session.ui.redact, report);
  throw new Fault("remote-failed", `${agent.host.name} could not report on ${type.title}`, {
    why: lastLines(output.stderr, 1, `the probe ended with ${code}`).map(session.ui.redact),
    next: `clm agent doctor ${agent.ref}`,
  });
}

/** The program may repeat secrets it was given. */
const redacted = (redact: (text: string) => string, report: RuntimeReport): RuntimeReport =>
  JSON.parse(JSON.stringify(report), (_, value) => (typeof value === "string" ? redact(value) : value));
