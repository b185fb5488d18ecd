import type { Talk } from "../../flows/chat/talk.js";
import { modelOf, providerStore } from "../../state/providers.js";
import { plain } from "../../ui/plain.js";
import { identityOf } from "../agent/view.js";
import type { Context } from "../command.js";
import { continueOnError, shownBy } from "./answer.js";

/** One message, one answer. */
export async function once(clm: Context, talk: Talk, message: string): Promise<undefined> {
  const shown = shownBy(clm);
  const answer = await talk.say(message, { onPiece: shown.piece, signal: clm.signal }).finally(shown.end);
  if (answer.cut) clm.ui.warn("the answer was cut: the model may say no more at once");
  if (clm.format === "table") {
    clm.ui.note(`go on with: ${continueOnError(talk)}`);
    return undefined;
  }
  const { record } = talk.agent;
  const { text, tools, tokens, cut = false, session, seconds } = answer;
  const model = modelOf(providerStore(clm.configDir).read(), record) ?? null;
  clm.show(
    {
      ...identityOf(talk.agent),
      ...{ session, text: plain(text), cut, tokens: tokens ?? null },
      tools: tools.map(({ tool, label }) => ({ tool: plain(tool), label: plain(label) })),
      ...{ provider: record.provider ?? null, model, seconds },
    },
    () => "",
  );
  return undefined;
}
