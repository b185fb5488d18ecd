import { type Attachment, messageWith } from "../../agents/chat/message.js";
import { Fault } from "../../errors.js";
import { attachment, textIn } from "../../flows/chat/attach.js";
import { Talk, type Which } from "../../flows/chat/talk.js";
import { withSession } from "../../flows/session.js";
import type { Context, Handler } from "../command.js";
import type { chat } from "./commands.js";
import { converse } from "./converse.js";
import { once } from "./once.js";

export const run: Handler<typeof chat> = async ({ args, options }, clm) => {
  const { system, file } = options;
  const which = whichOf(options);
  const source = sourceOf(options, clm);
  return withSession(clm, async (session) => {
    const talk = new Talk(session, args.name, { which, system });
    // Connects while files are read; a failure is reported when the connection is used.
    talk.connected().catch(() => {});
    const files = () => Promise.all(file.map((path) => attached(clm, path)));
    if (source === "person") return converse(clm, talk, files);
    const text = source === "stdin" ? await pipedText(clm) : source.text;
    return once(clm, talk, await fittingMessage(talk, text, await files()));
  });
};

async function fittingMessage(talk: Talk, text: string, files: Attachment[]): Promise<string> {
  const message = messageWith(text, files);
  await talk.mustFit(message);
  return message;
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
