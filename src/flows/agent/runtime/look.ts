import { Readable } from "node:stream";
import { codexTypeOf } from "../../../agents/hermes/codex/runtime.js";
import { type CodexSight, codexLook, codexSightFrom, type Looking } from "../../../agents/hermes/codex/sight.js";
import { Fault } from "../../../errors.js";
import { lastLines } from "../../../text/last-lines.js";
import type { Session } from "../../session.js";
import { execIn } from "../exec/exec.js";
import { leashOn } from "../exec/leash.js";
import type { Target } from "../target.js";

/** Seconds: more than everything it waits for together, but for MCP servers. */
const timeout = 300;

/**
 * Looks at Codex on an agent's host, as the service the target describes would see it: with its user, its `.env` and all that
 * closes it in.
 */
export async function lookAtCodex(session: Session, target: Target, looking: Looking): Promise<CodexSight> {
  const { agent, resolved } = target;
  const { words, input } = codexLook(resolved, codexTypeOf(resolved), looking);
  const leash = await leashOn(session, await session.pool.connect(agent.host), [target]);
  const said: Record<"stdout" | "stderr", string> = { stdout: "", stderr: "" };
  const decoder = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  let how: "done" | "stop" = "stop";
  try {
    const { code } = await execIn(session, target, leash, {
      command: words,
      input: Readable.from([Buffer.from(input)]),
      properties: [`RuntimeMaxSec=${timeout + (looking.thread || 0)}`],
      // For a host that does not end it.
      timeout: (timeout + (looking.thread || 0) + 30) * 1000,
      onOutput: (_, stream, bytes) => {
        said[stream] = (said[stream] + decoder[stream].decode(bytes, { stream: true })).slice(-most);
      },
    });
    how = "done";
    const sight = codexSightFrom(said.stdout);
    if (sight) return clean(session, sight);
    throw new Fault("remote-failed", `${agent.host.name} could not tell how Codex is`, {
      why: lastLines(said.stderr, 1, `what asked it ended with ${code}`).map(session.ui.redact),
      next: `clm agent doctor ${agent.ref}`,
    });
  } finally {
    await leash.end(how);
  }
}

/** No Codex has that much to say. */
const most = 4_000_000;

/** What Codex says may hold what it was told: nothing secret of it is shown or kept. */
const clean = ({ ui }: Session, sight: CodexSight): CodexSight =>
  JSON.parse(JSON.stringify(sight), (_, value) => (typeof value === "string" ? ui.redact(value) : value));
