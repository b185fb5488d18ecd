import { chatTimeout, proofScript, type Sight } from "../../agents/proof/script.js";
import { type Seen, seenFrom } from "../../agents/proof/seen.js";
import type { Subject } from "../../agents/subject.js";
import { Fault } from "../../errors.js";
import { commandFor } from "../../remote/operations/conversation.js";
import type { Shell } from "../../remote/process.js";
import { run } from "../../remote/run.js";
import type { Secret } from "../../secret.js";

// The longest is a program that is slow to tell its version.
const lookTimeout = 90_000;

/** Looks at an agent on its host in one exec. The key travels on stdin. */
export async function observe(
  root: Shell,
  subject: Subject,
  key: Secret,
  sight: Sight,
  signal: AbortSignal,
): Promise<Seen> {
  const script = proofScript(subject, sight);
  const { code, stdout, stderr } = await run(root, commandFor(script), {
    stdin: `${script}${key.reveal()}\n`,
    // The shell may have more to do.
    keepStdin: true,
    timeout: lookTimeout + (sight.chat ? chatTimeout : 0),
    signal,
  });
  const seen = seenFrom(stdout);
  if (seen) return seen;
  throw new Fault("remote-failed", `${subject.host} could not tell how ${subject.name} is`, {
    why: stderr.trim().split("\n").slice(-3).join(" ") || `its script ended with ${code}`,
    next: `clm host check ${subject.host}`,
  });
}
