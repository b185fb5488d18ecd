import { Fault } from "../../../errors.js";
import {
  listSessions,
  readTranscripts,
  searchSessions,
  type Transcript,
} from "../../../flows/agent/sessions/sessions.js";
import { intoFile } from "../../../state/stream-to-file.js";
import { redactedValue } from "../../../text/redacted-json.js";
import { jsonLine } from "../../../ui/format.js";
import { plain } from "../../../ui/plain.js";
import type { Ui } from "../../../ui/ui.js";
import { identityOf } from "../../agent-view.js";
import type { Handler } from "../../command.js";
import type * as declared from "./commands.js";
import { conversation, markdown } from "./text.js";
import { filterFrom, hitView, messageData, sessionData, sessionView } from "./view.js";

const hiddenBy = (ui: Ui) => (text: string) => ui.redact(plain(text));

export const list: Handler<typeof declared.list> = async ({ args, options }, clm) => {
  const { source, since } = options;
  const filter = filterFrom(options, clm);
  const found = await clm.withSession((session) => listSessions(session, args.name, filter));
  const narrowed = source !== undefined || since !== undefined;
  clm.list(found, sessionView(clm.now(), narrowed ? "no session matches" : `${args.name} has no sessions yet`));
};

export const search: Handler<typeof declared.search> = async ({ args, options }, clm) => {
  if (args.text.trim() === "") throw new Fault("usage", "the text to search for is empty");
  const filter = filterFrom(options, clm);
  const hits = await clm.withSession((session) => searchSessions(session, args.name, args.text, filter));
  clm.list(hits, hitView(args.text, hiddenBy(clm.ui), `no message of ${args.name} matches`));
};

export const show: Handler<typeof declared.show> = async ({ args, options: { full } }, clm) => {
  await clm.withSession(async (session) => {
    for await (const transcript of readTranscripts(session, args.name, { ids: [args.id], all: false })) {
      clm.show(transcriptData(transcript), () => conversation(transcript, { full, hidden: hiddenBy(clm.ui) }));
    }
  });
};

const transcriptData = ({ agent, chat, messages }: Transcript): object => ({
  ...identityOf(agent),
  session: { ...sessionData(chat), messages: messages.map(messageData) },
});

const exporting: Handler<typeof declared.exporting> = async ({ args, options }, clm) => {
  const { all, format, to, force } = options;
  const { name, ids } = args;
  if (all === ids.length > 0) {
    throw new Fault("usage", all ? "--all goes with no session" : "name sessions, or pass --all", {
      next: `clm agent sessions list ${name}`,
    });
  }
  if (force && to === undefined) throw new Fault("usage", "--force goes with --to");
  const { redact } = clm.ui;
  // JSON has no control character in it that is not spelled out.
  const asJson = ({ row }: Transcript) => jsonLine(redactedValue(row, redact));
  const asMarkdown = (transcript: Transcript) => redact(plain(markdown(transcript)));
  const show = (transcript: Transcript) =>
    format === "md"
      ? clm.ui.pass("stdout", Buffer.from(asMarkdown(transcript)))
      : clm.ui.data(transcript.row, jsonLine);
  let count = 0;
  await clm.withSession(async (session) => {
    const writeAll = async (write: (transcript: Transcript) => Promise<void> | void) => {
      for await (const transcript of readTranscripts(session, name, { ids, all })) {
        await write(transcript);
        count++;
      }
    };
    const textOf = format === "md" ? asMarkdown : asJson;
    await (to === undefined
      ? writeAll(show)
      : intoFile({ path: to, force }, (write) => writeAll((transcript) => write(textOf(transcript)))));
  });
  if (to !== undefined) clm.ui.note(`${count} ${count === 1 ? "session" : "sessions"} of ${name} written to ${to}`);
  else if (count === 0) clm.ui.note(`${name} has no sessions yet`);
};

export { exporting as export };
