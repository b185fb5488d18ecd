import { lookBeginning, settingsOf } from "../looking.js";
import proofs from "../proof/proof.sh?raw";
import type { Subject } from "../subject.js";
import library from "./symptoms.sh?raw";

/**
 * The script that asks for the symptoms of all of a host's agents at once. It holds nothing secret and changes nothing. The
 * host's clock is the first thing it tells: the sooner, the surer.
 */
export const symptomsScript = (subjects: readonly Subject[]): string =>
  [
    lookBeginning(proofs + library),
    'say clock "$(date +%s.%N)"',
    "exec </dev/null",
    ...subjects.map((subject, at) => `{\n${section(subject)}\n} | sed -u 's/^/${at} /' &`),
    "wait",
    "say end yes",
    "",
  ].join("\n");

const section = (subject: Subject): string =>
  [settingsOf(subject), "see_account", "see_symptoms", "see_space", "say end yes"].join("\n");
