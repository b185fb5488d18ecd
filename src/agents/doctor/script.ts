import { manyScript, settingsOf } from "../looking.js";
import proofs from "../proof/proof.sh?raw";
import type { Subject } from "../subject.js";
import library from "./symptoms.sh?raw";

/**
 * The script that asks for the symptoms of all of a host's agents at once. It holds nothing secret and changes nothing. The
 * host's clock is the first thing it tells: the sooner, the surer.
 */
export const symptomsScript = (subjects: readonly Subject[]): string =>
  manyScript(proofs + library, ['say clock "$(date +%s.%N)"'], subjects.map(section));

const section = (subject: Subject): string =>
  [settingsOf(subject), "see_account", "see_symptoms", "see_room"].join("\n");
