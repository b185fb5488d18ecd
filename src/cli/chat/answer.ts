import type { Piece } from "../../agents/chat/stream.js";
import type { Talk } from "../../flows/chat/talk.js";
import { quote } from "../../quote.js";
import { oneLine, plainStream } from "../../ui/plain.js";
import type { Context } from "../command.js";

/** Shows an answer as it comes: its text on stdout, what the agent does beside it on stderr. */
export function shownBy({ ui, format }: Context) {
  const text = plainStream();
  let last = "\n";
  const print = (part: string): void => {
    if (part === "" || format !== "table") return;
    last = part.slice(-1);
    ui.out(part);
  };
  return {
    piece(piece: Piece): void {
      if ("text" in piece) print(text.push(piece.text));
      else if (piece.status === "running") {
        const label = oneLine(piece.label);
        ui.aside(`· ${oneLine(piece.tool)}${label ? `: ${label}` : ""}`);
      }
    },
    /** The line of the answer is over, also of one that was broken off. */
    end(): void {
      print(text.flush());
      if (last !== "\n") print("\n");
    },
  };
}

/** The line that goes on with a conversation. */
export const continueOnError = ({ agent, session }: Talk): string =>
  `clm chat ${agent.ref} --session ${quote(session)}`;
