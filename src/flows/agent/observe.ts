import { chatTimeout, proofScript, type Sight } from "../../agents/proof/script.js";
import { type Seen, seenFrom } from "../../agents/proof/seen.js";
import type { Subject } from "../../agents/subject.js";
import { askHost } from "../../remote/ask-host.js";
import type { Shell } from "../../remote/process.js";
import type { Secret } from "../../secret.js";

// The longest is a program that is slow to tell its version.
const lookTimeout = 90_000;

/** Looks at an agent on its host in one exec. The key travels on stdin. */
export function observe(root: Shell, subject: Subject, key: Secret, sight: Sight, signal: AbortSignal): Promise<Seen> {
  const asking = {
    host: subject.host,
    what: `how ${subject.name} is`,
    stdin: `${key.reveal()}\n`,
    timeout: lookTimeout + (sight.chat ? chatTimeout : 0),
    signal,
  };
  return askHost(root, proofScript(subject, sight), asking, seenFrom);
}
