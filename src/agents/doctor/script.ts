import type { ResolvedAgent } from "../plan/resolved-agent.js";
import proofs from "../probe/proof/proof.sh?raw";
import { probeScriptForMany, settingsOf } from "../probe/script.js";
import library from "./symptoms.sh?raw";

/**
 * The script that asks for the symptoms of all of a host's agents at once. It holds nothing secret and changes nothing. The
 * host's clock is the first thing it tells: the sooner, the surer.
 */
export const symptomsScript = (agents: readonly ResolvedAgent[]): string =>
  probeScriptForMany(proofs + library, ['say clock "$(date +%s.%N)"'], agents.map(section));

const section = (agent: ResolvedAgent): string =>
  [settingsOf(agent), "probe_account", "probe_symptoms", "probe_room"].join("\n");
