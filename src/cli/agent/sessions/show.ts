import { readTranscripts, type Transcript } from "../../../flows/agent/sessions/sessions.js";
import { withSession } from "../../../flows/session.js";
import { plain } from "../../../ui/plain.js";
import { identityOf } from "../../agent-view.js";
import type { Handler } from "../../command.js";
import type { show } from "./commands.js";
import { conversation } from "./text.js";
import { messageData, sessionData } from "./view.js";

export const run: Handler<typeof show> = async ({ args, options }, clm) => {
  const { full } = options;
  await withSession(clm, async (session) => {
    for await (const transcript of readTranscripts(session, args.name, { ids: [args.id], all: false })) {
      clm.show(toJson(transcript), () =>
        conversation(transcript, { full, hidden: (text) => clm.ui.redact(plain(text)) }),
      );
    }
  });
};

const toJson = ({ agent, chat, messages }: Transcript): object => ({
  ...identityOf(agent),
  session: { ...sessionData(chat), messages: messages.map(messageData) },
});
