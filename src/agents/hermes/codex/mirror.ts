import { cutTo } from "../../handoff/fit.js";

/** The identity and memory of an agent, which Hermes does not pass on to Codex. */
type Mind = Record<"name" | "soul" | "memory" | "user", string>;

const begin =
  "<!-- clm: who this agent is, and what it remembers. Written anew by `clm agent sync`; write above or below. -->";
const end = "<!-- clm: end -->";
// An editor may have changed line ends, or dropped the last one.
const block = /<!-- clm: who this agent is[^\n]*-->\r?\n[\s\S]*?<!-- clm: end -->(\r?\n){0,2}/;

/** The limit of Codex for all instructions together (`project_doc_max_bytes`). */
const most = 32 * 1024;

/** AGENTS.md with our block before the user's own text. */
export function mirrored(existing: string | undefined, mind: Mind): string {
  const rest = (existing ?? "").replace(block, "");
  return `${digest(mind, most - Buffer.byteLength(rest))}${rest === "" ? "" : `\n${rest}`}`;
}

/** AGENTS.md without our block; undefined when nothing is left. */
export function unmirrored(existing: string): string | undefined {
  const rest = existing.replace(block, "");
  return rest.trim() === "" && rest !== existing ? undefined : rest;
}

function digest({ name, soul, memory, user }: Mind, room: number): string {
  const parts = [
    // Comments are not for the model.
    [`Who you are (${name})`, soul.replace(/<!--[\s\S]*?-->/g, "").trim()],
    ["What you remember", entries(memory)],
    ["Who you work for", entries(user)],
  ].flatMap(([title, text]) => (text ? [`# ${title}\n\n${text}`] : []));
  return `${[begin, cut(parts.join("\n\n"), Math.max(0, room - 400)), end].filter(Boolean).join("\n\n")}\n`;
}

const entries = (text: string): string =>
  text
    .replaceAll("\r\n", "\n")
    .split("\n§\n")
    .map((entry) => entry.trim())
    .filter(Boolean)
    .map((entry) => `- ${entry.replaceAll("\n", "\n  ")}`)
    .join("\n");

function cut(text: string, bytes: number): string {
  // A remaining comment mark could end our block.
  const clean = text.replaceAll("<!--", "<! --");
  const kept = cutTo(clean, bytes);
  return kept === clean ? clean : `${kept}\n\n(There is more, which did not fit.)`;
}
