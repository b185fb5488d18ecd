import { type Attachment, messageWith } from "../../agents/chat/message.js";
import { asFault, Fault, isFault } from "../../errors.js";
import type { Talk } from "../../flows/chat/talk.js";
import type { Lines } from "../../ui/lines.js";
import type { Context } from "../command.js";
import { continueOnError, shownBy } from "./answer.js";

const help = `/reset     begin a new conversation
/session   tell the line that goes on with this one, which has its id
/exit      leave (also Ctrl-D, or Ctrl-C at an empty line)
Ctrl-C stops an answer. What is pasted at once is one message.`;

/** A conversation with a person at a terminal. An answer that fails is told, and the conversation goes on. */
export async function converse(clm: Context, talk: Talk, attach: () => Promise<Attachment[]>): Promise<undefined> {
  const { ui, signal } = clm;
  const { agent } = talk;
  let files = await attach();
  await talk.ready();
  ui.note(`${agent.name} on ${agent.host.name}; /help tells what else can be typed`);
  if (files.length > 0) ui.note(`with the first message: ${files.map(({ name }) => name).join(", ")}`);
  const lines = ui.lines(`${agent.name}>`);
  let said = false;
  try {
    for (;;) {
      const typed = (await lines.next())?.trim();
      signal.throwIfAborted();
      if (typed === undefined || typed === "/exit" || typed === "/quit") break;
      if (typed === "") continue;
      if (isOrder(typed)) {
        obey(clm, talk, typed);
        if (typed === "/reset") said = false;
        continue;
      }
      said = true;
      if (await exchange(clm, talk, lines, messageWith(typed, files))) files = [];
    }
  } finally {
    lines.close();
  }
  if (said) tellSession(clm, talk);
  return undefined;
}

/** A word with a slash before it; a path, or several lines, is something to say. */
const isOrder = (typed: string): boolean => /^\/[a-z]*$/i.test(typed);

function obey(clm: Context, talk: Talk, order: string): void {
  if (order === "/help") clm.ui.note(help);
  else if (order === "/session") tellSession(clm, talk);
  else if (order === "/reset") {
    talk.reset();
    clm.ui.note(`a new conversation: session ${talk.session}`);
  } else clm.ui.warn(`there is no ${order}; /help tells what there is`);
}

function tellSession({ ui }: Context, talk: Talk): void {
  ui.note(`go on with: ${continueOnError(talk)}`);
}

/** Whether the message got to the agent. */
async function exchange(clm: Context, talk: Talk, lines: Lines, message: string): Promise<boolean> {
  const stop = new AbortController();
  const shown = shownBy(clm);
  try {
    await talk.mustFit(message);
    const say = () => talk.say(message, { onPiece: shown.piece, signal: stop.signal }).finally(shown.end);
    const { cut } = await lines.during(say, () => stop.abort(new Fault("interrupted", "the answer was stopped")));
    if (cut) clm.ui.warn("the answer was cut: the model may say no more at once");
    return true;
  } catch (error) {
    clm.signal.throwIfAborted();
    if (stop.signal.aborted) clm.ui.note("stopped");
    else tell(clm, error);
    return stop.signal.aborted;
  }
}

function tell({ ui }: Context, error: unknown): void {
  const fault = asFault(error);
  if (fault.fault === "bug") throw error;
  ui.fault(fault);
  if (isFault(fault, "connection-lost", "unreachable")) ui.note("the next message connects again");
}
