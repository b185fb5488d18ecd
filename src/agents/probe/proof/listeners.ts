import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import { addressText } from "./addresses.js";
import type { Observation, OpenPort } from "./observation.js";
import type { Proof } from "./proof.js";

/** Processes of the agent have no port that other machines can reach, unless a channel is configured to. */
export function judgeListeners(agent: ResolvedAgent, { openPorts, unit }: Observation): Omit<Proof, "id"> {
  if (!openPorts) {
    return { result: "skipped", reason: unit.MainPID && unit.MainPID !== "0" ? "was not looked at" : "needs unit" };
  }
  // Its own port, if any, is judged by the proof `port`.
  const others = openPorts.filter(({ port }) => port !== agent.port || agent.serves === "none");
  const unasked = others.filter((open) => !wasAsked(agent, open));
  const [first] = unasked;
  if (first) {
    const reason = `${unasked.map((open) => textOf(agent, open)).join("; ")}: not only on loopback`;
    const { ref } = agent;
    const fix = channelAt(agent, first) ? `clm agent configure ${ref}` : `clm agent restart ${ref}`;
    return { result: "fail", reason, fix };
  }
  if (others.length === 0) return { result: "ok", reason: "its processes listen on loopback only" };
  const asked = others.map((open) => textOf(agent, open)).join("; ");
  return { result: "ok", reason: `on loopback, and as it was asked for: ${asked}` };
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
  const text = addressText(address);
  return `${who} listens on ${text.includes(":") ? `[${text}]` : text}:${port}`;
}
