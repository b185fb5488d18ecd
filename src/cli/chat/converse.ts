import { type Attachment, messageWith } from "../../agents/chat/message.js";
import { asFault, Fault, isFault } from "../../errors.js";
import type { Talk } from "../../flows/chat/talk.js";
import type { Lines } from "../../ui/lines.js";
import type { Context } from "../command.js";
import { answerPrinter, cutWarning, resumeCommand } from "./answer.js";

const help = `/reset     start a new conversation
/session   print the command that continues this conversation
/exit      leave (also Ctrl-D, or Ctrl-C at an empty line)
Ctrl-C stops an answer. Text that is pasted at once is one message.`;

/** A conversation with a person at a terminal. A failed answer is reported, and the conversation continues. */
export async function converse(clm: Context, talk: Talk, attach: () => Promise<Attachment[]>): Promise<void> {
  const { ui, signal } = clm;
  const { agent } = talk;
  let files = await attach();
  await talk.ready();
  ui.note(`${agent.name} on ${agent.host.name}; type /help for commands`);
  if (files.length > 0) ui.note(`with the first message: ${files.map(({ name }) => name).join(", ")}`);
  const lines = await ui.lines(`${agent.name}>`);
  let said = false;
  try {
    for (;;) {
      const typed = (await lines.next())?.trim();
      signal.throwIfAborted();
      if (typed === undefined || typed === "/exit" || typed === "/quit") break;
      if (typed === "") continue;
      if (isCommand(typed)) {
        runCommand(clm, talk, typed);
        if (typed === "/reset") said = false;
        continue;
      }
      said = true;
      if (await exchange(clm, talk, lines, messageWith(typed, files))) files = [];
    }
  } finally {
    lines.close();
  }
  if (said) ui.note(`continue with: ${resumeCommand(talk)}`);
}

/** One word after a slash; a path or several lines are a message. */
const isCommand = (typed: string): boolean => /^\/[a-z]*$/i.test(typed);

function runCommand({ ui }: Context, talk: Talk, command: string): void {
  if (command === "/help") ui.note(help);
  else if (command === "/session") ui.note(`continue with: ${resumeCommand(talk)}`);
  else if (command === "/reset") {
    talk.reset();
    ui.note(`a new conversation: session ${talk.id}`);
  } else ui.warn(`unknown command ${command}; type /help for commands`);
}

/** Returns whether the agent got the message. */
async function exchange(clm: Context, talk: Talk, lines: Lines, message: string): Promise<boolean> {
  const stop = new AbortController();
  const printer = answerPrinter(clm);
  try {
    await talk.mustFit(message);
    const say = () => talk.say(message, { onPiece: printer.piece, signal: stop.signal }).finally(printer.end);
    const { cut } = await lines.during(say, () => stop.abort(new Fault("interrupted", "the answer was stopped")));
    if (cut) clm.ui.warn(cutWarning);
    return true;
  } catch (error) {
    clm.signal.throwIfAborted();
    if (stop.signal.aborted) clm.ui.note("stopped");
    else showFault(clm, error);
    return stop.signal.aborted;
  }
}

function showFault({ ui }: Context, error: unknown): void {
  const fault = asFault(error);
  if (fault.fault === "bug") throw error;
  ui.fault(fault);
  if (isFault(fault, "connection-lost", "unreachable")) ui.note("the next message reconnects");
}
