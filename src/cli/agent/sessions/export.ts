import { Fault } from "../../../errors.js";
import { intoFile } from "../../../flows/agent/sessions/export.js";
import { type Told, tellSessions } from "../../../flows/agent/sessions/read.js";
import { withSession } from "../../../flows/session.js";
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
  // JSON has no control character in it that is not spelled out.
  const textOf = (told: Told) => (format === "md" ? plain(markdown(told)) : `${JSON.stringify(told.row)}\n`);
  let count = 0;
  await withSession({ ...clm, sudoPasswordFile }, async (session) => {
    const tellAll = async (write: (text: string) => Promise<void> | void) => {
      for await (const told of tellSessions(session, name, { ids, all })) {
        await write(clm.ui.redact(textOf(told)));
        count++;
      }
    };
    await (to === undefined
      ? tellAll((text) => clm.ui.pass("stdout", Buffer.from(text)))
      : intoFile({ path: to, force }, tellAll));
  });
  if (to !== undefined) clm.ui.note(`${count} ${count === 1 ? "session" : "sessions"} of ${name} written to ${to}`);
  else if (count === 0) clm.ui.note(`${name} has no sessions yet`);
  return undefined;
};
