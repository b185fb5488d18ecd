import { command, flag, list, obsoleteFlag, text } from "../command.js";
import { agentName, sudoOption } from "../shared-options.js";

export const chat = command({
  path: "chat",
  summary: "chat with an agent",
  description: `Calls the agent's own API through the SSH connection: no port is opened on this machine or on the
host. The key is sent only after the host has confirmed that the agent's own process holds the port. The answer is
printed as it arrives, together with the tools the agent uses. When the model does not answer, clm reports an error
(exit code 16) instead of printing an empty one.

On a terminal this is a conversation: /reset starts a new one, /session prints its id, /exit or Ctrl-D leaves, and
Ctrl-C interrupts an answer. With --once, or with piped input, it is a single message. The id of the conversation is
printed at the end: --session continues it, --last continues the most recent one that clm had with this agent. Only
the agent stores the messages.`,
  args: { name: agentName },
  options: {
    once: text("TEXT", "send this, print the answer and exit ('-' reads it from stdin)"),
    session: text("ID", "continue this conversation"),
    last: flag("continue the last conversation clm had with this agent"),
    new: obsoleteFlag("begin a new conversation"),
    system: text("TEXT", "system prompt, sent with every message"),
    file: list("FILE", "attach a text file to the first message (repeatable; '-' is stdin)", {
      completes: "file",
    }),
    ...sudoOption,
  },
  formats: ["table", "json", "yaml"],
  examples: [
    "clm chat hermes-test",
    "clm chat hermes-test --once 'What runs on this machine?'",
    "clm chat hermes-test --last --once 'And since when?'   # continues the conversation",
    "journalctl -n 200 | clm chat hermes-test --once 'What is wrong here?' --file -",
    "clm chat hermes-test --once 'Say OK' -o json | jq -r .text",
  ],
  load: () => import("./chat.js"),
});
