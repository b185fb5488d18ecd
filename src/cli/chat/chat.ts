import { type Attachment, messageWith } from "../../agents/chat/message.js";
import { Fault } from "../../errors.js";
import { attachment, textIn } from "../../flows/chat/attach.js";
import { Talk, type Which } from "../../flows/chat/talk.js";
import { modelOf, providerStore } from "../../state/providers.js";
import { plain } from "../../ui/plain.js";
import { identityOf } from "../agent-view.js";
import type { Context, Handler } from "../command.js";
import { answerPrinter, cutWarning, resumeCommand } from "./answer.js";
import type { chat } from "./commands.js";
import { converse } from "./converse.js";

export const run: Handler<typeof chat> = async ({ args, options }, clm) => {
  const { system, file } = options;
  const which = whichOf(options);
  const source = sourceOf(options, clm);
  return clm.withSession(async (session) => {
    const talk = new Talk(session, args.name, { which, system });
    // Connects while files are read; a failure is reported when the connection is used.
    talk.connected().catch(() => {});
    const files = () => Promise.all(file.map((path) => attached(clm, path)));
    if (source === "person") return converse(clm, talk, files);
    const text = source === "stdin" ? await pipedText(clm) : source.text;
    return once(clm, talk, messageWith(text, await files()));
  });
};

async function once(clm: Context, talk: Talk, message: string): Promise<void> {
  await talk.mustFit(message);
  const printer = answerPrinter(clm);
  const answer = await talk.say(message, { onPiece: printer.piece, signal: clm.signal }).finally(printer.end);
  if (answer.cut) clm.ui.warn(cutWarning);
  if (clm.format === "table") return clm.ui.note(`continue with: ${resumeCommand(talk)}`);
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
}

async function pipedText(clm: Context): Promise<string> {
  const text = await textIn(clm.stdin(), "stdin", clm.signal);
  if (text.trim() !== "") return text;
  throw new Fault("usage", "stdin is empty, and there is no terminal to chat on", {
    why: "pass the message with --once, or pipe it in",
  });
}

const attached = (clm: Context, path: string): Promise<Attachment> =>
  path === "-"
    ? textIn(clm.stdin(), "stdin", clm.signal).then((text) => ({ name: "stdin", text }))
    : attachment(path, clm.signal);

function whichOf({ session, last, new: fresh }: { session?: string | undefined; last: boolean; new: boolean }): Which {
  const given = [session !== undefined, last, fresh].filter(Boolean);
  if (given.length > 1) throw new Fault("usage", "--session, --last and --new exclude each other");
  if (session !== undefined) return { id: session };
  return last ? "last" : "new";
}

type Source = "person" | "stdin" | { text: string };

function sourceOf({ once, file }: { once?: string | undefined; file: string[] }, clm: Context): Source {
  const piped = !clm.stdin().isTTY;
  const streams = file.filter((path) => path === "-").length + (once === "-" ? 1 : 0);
  if (streams > 1) throw new Fault("usage", "stdin can be read only once: '-' was passed more than once");
  if (streams > 0 && !piped) throw new Fault("usage", "'-' reads stdin, and nothing is piped in");
  if (once !== undefined && once !== "-") return { text: once };
  if (once === "-") return "stdin";
  if (piped) return streams > 0 ? { text: "" } : "stdin";
  if (clm.format !== "table") {
    throw new Fault("usage", `-o ${clm.format} is for a single message`, {
      why: "pass the message with --once, or pipe it in",
    });
  }
  if (clm.ui.interactive) return "person";
  throw new Fault("usage", "there is no terminal to chat on", { why: "pass the message with --once, or pipe it in" });
}
