import text from "../../../templates/env.hbs?raw";
import { Fault } from "../../errors.js";
import { Secret } from "../../secret.js";
import { dotenv } from "./dotenv.js";
import { fileTemplate } from "./file-template.js";

const template = fileTemplate<{ entries: { name: string; value: string }[] }>(text, { dotenv });

/** The text of an agent's `.env`. Values that readers would parse differently are refused. */
export function dotenvFile(entries: ReadonlyMap<string, string | Secret>): Secret {
  const revealed = [...entries].map(([name, value]) => ({
    name,
    value: value instanceof Secret ? value.reveal() : value,
  }));
  for (const { name, value } of revealed) mustNotMention(name, value, entries);
  return new Secret(template({ entries: revealed }));
}

/** An agent may take a line with two known names for two lines that lost their newline. */
function mustNotMention(name: string, value: string, entries: ReadonlyMap<string, unknown>): void {
  const mentioned = [...entries.keys()].find((other) => other.includes("_") && value.includes(`${other}=`));
  if (mentioned === undefined) return;
  throw new Fault("bad-input", `the value of ${name} cannot be written to .env: it contains ${mentioned}=`, {
    why: "the agent would take the rest for another variable",
  });
}
