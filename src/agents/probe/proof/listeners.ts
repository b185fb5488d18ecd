import { fail, ok, skipped } from "../../check.js";
import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import { addressText, socketText } from "./addresses.js";
import type { Observation, OpenPort } from "./observation.js";
import type { ProofVerdict } from "./proof.js";

/** Processes of the agent have no port that other machines can reach, unless a channel is configured to. */
export function judgeListeners(agent: ResolvedAgent, { openPorts, unit }: Observation): ProofVerdict {
  if (!openPorts) return skipped(unit.MainPID && unit.MainPID !== "0" ? "was not checked" : "needs unit");
  // Its own port, if any, is judged by the proof `port`.
  const others = openPorts.filter(({ port }) => port !== agent.port || agent.serves === "none");
  const unasked = others.filter((open) => !wasAsked(agent, open));
  const [first] = unasked;
  if (first) {
    const reason = `${unasked.map((open) => textOf(agent, open)).join("; ")}: not only on loopback`;
    const { ref } = agent;
    return fail(reason, channelAt(agent, first) ? `clm agent configure ${ref}` : `clm agent restart ${ref}`);
  }
  if (others.length === 0) return ok("its processes listen on loopback only");
  const asked = others.map((open) => textOf(agent, open)).join("; ");
  return ok(`on loopback, and as it was asked for: ${asked}`);
}

const channelAt = ({ listens = [] }: ResolvedAgent, { port }: OpenPort) => listens.find((each) => each.port === port);

/** 0.0.0.0 and :: allow every address. */
function wasAsked(agent: ResolvedAgent, open: OpenPort): boolean {
  const bind = channelAt(agent, open)?.bind;
  return bind === "0.0.0.0" || bind === "::" || bind === addressText(open.address);
}

function textOf(agent: ResolvedAgent, open: OpenPort): string {
  const { address, port, pid, command } = open;
  const who = channelAt(agent, open)?.channel ?? `its process ${pid} (${command})`;
  return `${who} listens on ${socketText(address, port)}`;
}
