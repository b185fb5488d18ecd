import { sh } from "../../quote.js";
import { sessionHeader } from "../chat/message.js";
import { codexTexts } from "../codex/runtime.js";
import { lookScript, versionCall } from "../looking.js";
import { privatePlaces } from "../private-places.js";
import type { Subject } from "../subject.js";
import { proofLibrary } from "./library.js";
import { newProofSession } from "./session.js";

export interface Sight {
  /** One real question is asked when the key is accepted. */
  chat?: boolean;
  /**
   * Also what a rendering has to know: variables of `.env`, config.yaml, systemd. A salt asks for digests of the lines. `as`
   * is the agent as it should be, when that is another.
   */
  rendered?: { salt: string; as?: Subject } | undefined;
  /** Also every port that somebody listens on. */
  ports?: boolean;
  /** Also what it says of its channels and MCP servers. */
  connections?: boolean;
  /** Only what the agent said since then, in seconds since 1970 by the host's clock; without a time, since its last start. */
  words?: { since?: string | undefined } | undefined;
}

const question = "Say only the word OK.";

/** Milliseconds a model may think about one word. */
export const chatTimeout = 120_000;

/** The script that looks at an agent. It holds nothing secret: the key is the first line on its stdin. */
export function proofScript(subject: Subject, sight: Sight): string {
  const { manifest, port, places } = subject;
  const { api } = manifest;
  const body = {
    model: api.chat.model,
    stream: false,
    messages: [{ role: "user", content: question }],
    max_tokens: 16,
  };
  const salt = sight.rendered?.salt ?? "";
  const session = `${sessionHeader}: ${newProofSession()}`;
  return lookScript(subject, proofLibrary, [
    sh`port=${port} salt=${salt} config=${places.config} health=${api.health} models=${api.models}`,
    sh`chat=${sight.chat ? "yes" : ""}`,
    sh`chat_path=${api.chat.path} chat_seconds=${chatTimeout / 1000} chat_body=${JSON.stringify(body)}`,
    sh`chat_session=${session}`,
    // What comes next on stdin is for somebody else.
    "IFS= read -r key; exec </dev/null",
    "see_account",
    ...(sight.words
      ? [sh`see_words ${sight.words.since ?? []}`]
      : [
          `{ ${versionCall(subject)}; } &`,
          ...(sight.rendered ? ["see_rendered", textsCall(sight.rendered.as ?? subject)] : []),
          ...(sight.ports ? ["see_ports"] : []),
          sh`see_files ${privatePlaces(subject).flatMap(({ name, path }) => [name, path])}`,
          "see_unit",
          ...(sight.connections ? ["see_channels", ...serverCalls(subject)] : []),
          "see_open_ports &",
          "see_api",
          "wait",
        ]),
  ]);
}

/** The call that tells of its MCP servers, when it has any. */
export const serverCalls = ({ servers, manifest }: Subject): string[] =>
  servers.length > 0 && manifest.mcp_log ? [sh`see_servers ${manifest.mcp_log.contains}`] : [];

/** The call that brings the files somebody else writes to as well. */
export const textsCall = (subject: Subject): string => sh`see_texts ${Object.entries(codexTexts(subject)).flat()}`;
