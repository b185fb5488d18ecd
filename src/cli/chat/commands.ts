import { command, flag, list, type Noun, text } from "../command.js";
import { agentName, sudo } from "../recurring.js";

export const chat = command({
  path: "chat",
  summary: "talk with an agent",
  description: `Asks the agent's own API inside the SSH connection: no port is opened on this machine or on the host. Its key is sent only when
the host has been seen to have the agent's own process on the agent's port. The answer is shown as it comes, the tools the agent uses
beside it. When the model gave no answer, that is an error (16) and never printed as if it were one.

On a terminal it is a conversation: /reset begins another, /session tells its id, /exit or Ctrl-D leaves, and Ctrl-C stops an answer.
With --once, or with something piped in, it is one message. A conversation has an id, told at its end: --session goes on with it,
--last with the one clm had last with this agent. Only the agent keeps what was said.`,
  args: { name: agentName },
  options: {
    once: text("TEXT", "say this, print the answer and end ('-' reads it from stdin)"),
    session: text("ID", "go on with this conversation"),
    last: flag("go on with the last conversation clm had with this agent"),
    new: flag("begin a new conversation, which is the default"),
    system: text("TEXT", "tell the model this beside every message"),
    file: list("FILE", "a text file that goes with the first message (repeatable; '-' is stdin)", {
      completes: "file",
    }),
    ...sudo,
  },
  formats: ["table", "json", "yaml"],
  examples: [
    { run: "clm chat hermes-test" },
    { run: "clm chat hermes-test --once 'What runs on this machine?'" },
    { run: "clm chat hermes-test --last --once 'And since when?'", note: "goes on where it ended" },
    { run: "journalctl -n 200 | clm chat hermes-test --once 'What is wrong here?' --file -" },
    { run: "clm chat hermes-test --once 'Say OK' -o json | jq -r .text" },
  ],
  load: () => import("./chat.js"),
});

export const chatNoun: Noun = { name: "chat", summary: chat.summary, commands: [chat] };
