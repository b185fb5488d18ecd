import { type Told, tellSessions } from "../../../flows/agent/sessions/read.js";
import { withSession } from "../../../flows/session.js";
import { plain } from "../../../ui/plain.js";
import type { Handler } from "../../command.js";
import { identityOf } from "../view.js";
import type { show } from "./commands.js";
import { conversation } from "./text.js";
import { messageData, sessionData } from "./view.js";

export const run: Handler<typeof show> = async ({ args, options }, clm) => {
  const { full, sudoPasswordFile } = options;
  const which = { ids: [args.id], all: false };
  await withSession({ ...clm, sudoPasswordFile }, async (session) => {
    for await (const told of tellSessions(session, args.name, which)) {
      clm.show(machine(told), () => conversation(told, { full, hidden: (text) => clm.ui.redact(plain(text)) }));
    }
  });
  return undefined;
};

const machine = ({ agent, talk, messages }: Told): object => ({
  ...identityOf(agent),
  session: { ...sessionData(talk), messages: messages.map(messageData) },
});
