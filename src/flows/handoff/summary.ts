import { cutTo, piecesOf, roomIn, type Split, summaryRoom } from "../../agents/handoff/fit.js";
import { summaryRequest } from "../../agents/handoff/proof.js";
import { Fault } from "../../errors.js";
import { bytesPerToken } from "../../text/tokens.js";
import { askOnce } from "../chat/exchange.js";
import type { Session } from "../session.js";
import { changeSessions } from "./change-sessions.js";
import { handoffsOf } from "./open.js";
import type { HandoffTarget } from "./target.js";

const mostPieces = 40;

/** The target summarises in sessions whose ids begin with the handoff's: removing the handoff removes them too. */
export async function summaryOf(session: Session, target: HandoffTarget, id: string, split: Split): Promise<string> {
  const { agent } = target;
  const longestSummary = summaryLength(target);
  let summary: string | undefined;
  for (const [at, piece] of piecesFor(target, split).entries()) {
    const asked = summaryRequest(summary, piece, longestSummary);
    const { text } = await askOnce(session, agent, `${id}-summary-${at + 1}`, asked);
    summary = cutTo(text.trim(), longestSummary);
  }
  const made = `${id}-summary`;
  await changeSessions(session, target, { verb: "delete-session", id: made });
  await handoffsOf(session).remove(made, { host: agent.host.name, agent: agent.name }, session.now());
  return summary ?? "";
}

/** The pieces to summarise; a fault when they are too many or the model is too small. */
export function piecesFor(target: HandoffTarget, { older }: Split): string[] {
  const { agent, context, resolved } = target;
  // The request and the summary so far are in the same message. In bytes: a character is at least one.
  const window = Math.floor((roomIn(context ?? 0) * bytesPerToken) / 2);
  const maxLength = resolved.manifest.api.chat?.max_length ?? window;
  const longest = Math.min(window, maxLength - summaryLength(target) - 1000);
  if (longest < 200) {
    throw new Fault("bad-input", `the model of ${agent.name} is too small to summarise anything`, {
      why: `its window holds ${context} tokens; --fit trim leaves out what does not fit`,
      data: { context },
    });
  }
  const pieces = piecesOf(older, longest);
  if (pieces.length <= mostPieces) return pieces;
  throw new Fault(
    "bad-input",
    `${agent.name} would have to read ${pieces.length} times to summarise what does not fit`,
    {
      why: `more than ${mostPieces} times is not tried; --only-last takes less, --fit trim leaves it out`,
      data: { pieces: pieces.length },
    },
  );
}

/** In bytes. */
const summaryLength = ({ context = 0 }: HandoffTarget): number => summaryRoom(roomIn(context)) * bytesPerToken;
