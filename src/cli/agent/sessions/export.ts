import { Fault } from "../../../errors.js";
import { readTranscripts, type Transcript } from "../../../flows/agent/sessions/sessions.js";
import { withSession } from "../../../flows/session.js";
import { intoFile } from "../../../state/stream-to-file.js";
import { redactedValue } from "../../../text/redacted-json.js";
import { jsonLine } from "../../../ui/format.js";
import { plain } from "../../../ui/plain.js";
import type { Handler } from "../../command.js";
import type { exporting } from "./commands.js";
import { markdown } from "./text.js";

export const run: Handler<typeof exporting> = async ({ args, options }, clm) => {
  const { all, format, to, force } = options;
  const { name, ids } = args;
  if (all === ids.length > 0) {
    throw new Fault("usage", all ? "--all goes with no session" : "say which sessions, or --all", {
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
  await withSession(clm, async (session) => {
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
