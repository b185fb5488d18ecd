import type { Talk } from "../../flows/chat/talk.js";
import { modelOf, providerStore } from "../../state/providers.js";
import { plain } from "../../ui/plain.js";
import { identityOf } from "../agent-view.js";
import type { Context } from "../command.js";
import { answerPrinter, cutWarning, resumeCommand } from "./answer.js";

export async function once(clm: Context, talk: Talk, message: string): Promise<undefined> {
  const printer = answerPrinter(clm);
  const answer = await talk.say(message, { onPiece: printer.piece, signal: clm.signal }).finally(printer.end);
  if (answer.cut) clm.ui.warn(cutWarning);
  if (clm.format === "table") {
    clm.ui.note(`continue with: ${resumeCommand(talk)}`);
    return undefined;
  }
  const { record } = talk.agent;
  const { text, tools, tokens, cut = false, session, seconds } = answer;
  clm.show({
    ...identityOf(talk.agent),
    session,
    text: plain(text),
    cut,
    tokens: tokens ?? null,
    tools: tools.map(({ tool, label }) => ({ tool: plain(tool), label: plain(label) })),
    provider: record.provider ?? null,
    model: modelOf(providerStore(clm.configDir).read(), record) ?? null,
    seconds,
  });
  return undefined;
}
