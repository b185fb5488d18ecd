import type { Piece } from "../../agents/chat/stream.js";
import type { Talk } from "../../flows/chat/talk.js";
import { quote } from "../../quote.js";
import { oneLine, plainStream } from "../../ui/plain.js";
import type { Context } from "../command.js";

/** Prints an answer as it comes: its text on stdout, the tools that the agent uses on stderr. */
export function answerPrinter({ ui, format }: Context) {
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
        ui.hint(`· ${oneLine(piece.tool)}${label ? `: ${label}` : ""}`);
      }
    },
    /** Ends the line, also of an answer that was interrupted. */
    end(): void {
      print(text.flush());
      if (last !== "\n") print("\n");
    },
  };
}

export const cutWarning = "the answer was cut: it reached the model's maximum length";
export const resumeCommand = ({ agent, id }: Talk): string => `clm chat ${agent.ref} --session ${quote(id)}`;
