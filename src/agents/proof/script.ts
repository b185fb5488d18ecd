import { sh } from "../../quote.js";
import { codexTexts } from "../codex/runtime.js";
import { lookScript, versionCall } from "../looking.js";
import { privatePlaces } from "../private-places.js";
import type { Subject } from "../subject.js";
import library from "./proof.sh?raw";

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
  /** Only what the agent said since its last start. */
  words?: boolean;
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
  return lookScript(subject, library, [
    sh`port=${port} salt=${salt} config=${places.config} health=${api.health} models=${api.models}`,
    sh`chat=${sight.chat ? "yes" : ""}`,
    sh`chat_path=${api.chat.path} chat_seconds=${chatTimeout / 1000} chat_body=${inCurlQuotes(JSON.stringify(body))}`,
    // What comes next on stdin is for somebody else.
    "IFS= read -r key; exec </dev/null",
    "see_account",
    ...(sight.words
      ? ["see_words"]
      : [
          // Starting the program takes longer than all the rest together.
          `${versionCall(subject)} &`,
          ...(sight.rendered ? ["see_rendered", textsCall(sight.rendered.as ?? subject)] : []),
          ...(sight.ports ? ["see_ports"] : []),
          sh`see_files ${privatePlaces(subject).flatMap(({ name, path }) => [name, path])}`,
          "see_unit",
          "see_port",
          "see_answers",
          "wait",
        ]),
  ]);
}

/** The call that brings the files somebody else writes to as well. */
export const textsCall = (subject: Subject): string => sh`see_texts ${Object.entries(codexTexts(subject)).flat()}`;

const inCurlQuotes = (text: string): string => text.replace(/["\\]/g, "\\$&");
