import type { Subject } from "../subject.js";
import { addressText } from "./addresses.js";
import type { Proof } from "./proof.js";
import type { OpenPort, Seen } from "./seen.js";

/** No process of the agent has a port that other machines can reach, unless a channel was told to have one. */
export function judgeListeners(subject: Subject, { openPorts, unit }: Seen): Omit<Proof, "id"> {
  if (!openPorts) {
    return { result: "skipped", reason: unit.MainPID && unit.MainPID !== "0" ? "was not looked at" : "needs unit" };
  }
  // Where its API listens is told by the proof `port`.
  const others = openPorts.filter(({ port }) => port !== subject.port);
  const unasked = others.filter((open) => !wasAsked(subject, open));
  const [first] = unasked;
  if (first) {
    const reason = `${unasked.map((open) => textOf(subject, open)).join("; ")}: not only on loopback`;
    const { word } = subject;
    const fix = channelAt(subject, first) ? `clm agent configure ${word}` : `clm agent restart ${word}`;
    return { result: "fail", reason, fix };
  }
  if (others.length === 0) return { result: "ok", reason: "its processes listen on loopback only" };
  const asked = others.map((open) => textOf(subject, open)).join("; ");
  return { result: "ok", reason: `on loopback, and as it was asked for: ${asked}` };
}

const channelAt = ({ listens = [] }: Subject, { port }: OpenPort) => listens.find((each) => each.port === port);

/** Of an address that stands for every one, each is asked for. */
function wasAsked(subject: Subject, open: OpenPort): boolean {
  const bind = channelAt(subject, open)?.bind;
  return bind === "0.0.0.0" || bind === "::" || bind === addressText(open.address);
}

function textOf(subject: Subject, open: OpenPort): string {
  const { address, port, pid, command } = open;
  const who = channelAt(subject, open)?.channel ?? `its process ${pid} (${command})`;
  const text = addressText(address);
  return `${who} listens on ${text.includes(":") ? `[${text}]` : text}:${port}`;
}
