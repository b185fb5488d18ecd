import { piecesOf, roomIn, type Split, summaryRoom } from "../../agents/handoff/fit.js";
import { summaryRequest } from "../../agents/handoff/proof.js";
import { Fault } from "../../errors.js";
import type { Session } from "../session.js";
import { request } from "./on-host.js";
import type { Target } from "./target.js";
import { turnIn } from "./turn.js";

/** So many pieces the target is asked to read; what is longer is no conversation to summarise any more. */
const mostPieces = 40;
const charactersPerToken = 4;

/**
 * What was said earlier, as the target itself puts it. It is asked piece by piece, each in a conversation of its own that is taken
 * away at the end. Their ids begin with the handoff's: whoever forgets that forgets these too.
 */
export async function summaryOf(session: Session, target: Target, id: string, { older }: Split): Promise<string> {
  const { agent, subject } = target;
  const room = roomIn(target.context ?? 0);
  const shortest = summaryRoom(room) * charactersPerToken;
  // The request itself and what was summarised before stand in the same message.
  const window = Math.floor((room * charactersPerToken) / 2);
  const longest = Math.min(window, (subject.manifest.api.chat.longest ?? window) - shortest - 1000);
  if (longest < 200) throw tooSmall(target);
  const pieces = piecesOf(older, longest);
  if (pieces.length > mostPieces) throw tooMuch(target, pieces.length);
  let summary: string | undefined;
  for (const [at, piece] of pieces.entries()) {
    const asked = summaryRequest(summary, piece, shortest);
    const { text } = await turnIn(session, agent, `${id}-summary-${at + 1}`, asked);
    summary = text.trim().slice(0, shortest);
  }
  await request(session, agent, { verb: "forget", id: `${id}-summary` }, session.signal);
  return summary ?? "";
}

const tooSmall = ({ agent, context }: Target): Fault =>
  new Fault("bad-input", `the model of ${agent.name} is too small to summarise anything`, {
    why: `its window holds ${context} tokens; --fit trim leaves out what does not fit`,
    data: { context },
  });

const tooMuch = ({ agent }: Target, pieces: number): Fault =>
  new Fault("bad-input", `${agent.name} would have to read ${pieces} times to summarise what does not fit`, {
    why: `more than ${mostPieces} times is not tried; --only-last takes less, --fit trim leaves it out`,
    data: { pieces },
  });
