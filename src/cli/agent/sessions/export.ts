import { Fault } from "../../../errors.js";
import { intoFile } from "../../../flows/agent/sessions/export.js";
import { type Told, tellSessions } from "../../../flows/agent/sessions/read.js";
import { withSession } from "../../../flows/session.js";
import { redactedValue } from "../../../text/redacted-json.js";
import { jsonLine } from "../../../ui/format.js";
import { plain } from "../../../ui/plain.js";
import type { Handler } from "../../command.js";
import type { exporting } from "./commands.js";
import { markdown } from "./text.js";

export const run: Handler<typeof exporting> = async ({ args, options }, clm) => {
  const { all, format, to, force, sudoPasswordFile } = options;
  const { name, ids } = args;
  if (all === ids.length > 0) {
    throw new Fault("usage", all ? "--all goes with no session" : "say which sessions, or --all", {
      next: `clm agent sessions list ${name}`,
    });
  }
  if (force && to === undefined) throw new Fault("usage", "--force goes with --to");
  const { redact } = clm.ui;
  // JSON has no control character in it that is not spelled out.
  const asJson = ({ row }: Told) => jsonLine(redactedValue(row, redact));
  const asMarkdown = (told: Told) => redact(plain(markdown(told)));
  const show = (told: Told) =>
    format === "md" ? clm.ui.pass("stdout", Buffer.from(asMarkdown(told))) : clm.ui.data(told.row, jsonLine);
  let count = 0;
  await withSession({ ...clm, sudoPasswordFile }, async (session) => {
    const tellAll = async (write: (told: Told) => Promise<void> | void) => {
      for await (const told of tellSessions(session, name, { ids, all })) {
        await write(told);
        count++;
      }
    };
    const textOf = format === "md" ? asMarkdown : asJson;
    await (to === undefined
      ? tellAll(show)
      : intoFile({ path: to, force }, (write) => tellAll((told) => write(textOf(told)))));
  });
  if (to !== undefined) clm.ui.note(`${count} ${count === 1 ? "session" : "sessions"} of ${name} written to ${to}`);
  else if (count === 0) clm.ui.note(`${name} has no sessions yet`);
  return undefined;
};
