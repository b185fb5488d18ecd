import text from "../../../templates/env.hbs?raw";
import { Fault } from "../../errors.js";
import { Secret } from "../../secret.js";
import { fileTemplate } from "./file-template.js";

/** Collects the variables of `.env`. Owners that set the same variable must agree on its value. */
export class EnvDraft {
  readonly entries = new Map<string, string | Secret>();
  readonly #owners = new Map<string, string>();

  agrees(name: string, value: string | Secret): boolean {
    const there = this.entries.get(name);
    return there === undefined || plain(there) === plain(value);
  }

  put(name: string, value: string | Secret, owner: string): void {
    if (!this.agrees(name, value))
      throw new Fault("bad-input", `${owner} and ${this.#owners.get(name)} set ${name} to different values`, {
        why: "an agent has one variable of that name",
        data: { variable: name },
      });
    if (this.entries.has(name)) return;
    this.entries.set(name, value);
    this.#owners.set(name, owner);
  }
}

export const plain = (value: string | Secret): string => (value instanceof Secret ? value.reveal() : value);

const template = fileTemplate<{ entries: { name: string; value: string }[] }>(text, { dotenv });

/** The text of an agent's `.env`. Values that readers would parse differently are refused. */
export function dotenvFile(entries: ReadonlyMap<string, string | Secret>): Secret {
  const revealed = [...entries].map(([name, value]) => ({ name, value: plain(value) }));
  for (const { name, value } of revealed) mustNotMention(name, value, entries);
  return new Secret(template({ entries: revealed }));
}

/** An agent may take a line with two known names for two lines that lost their newline. */
function mustNotMention(name: string, value: string, entries: ReadonlyMap<string, unknown>): void {
  const mentioned = [...entries.keys()].find((other) => other.includes("_") && value.includes(`${other}=`));
  if (mentioned === undefined) return;
  throw new Fault("bad-input", `the value of ${name} cannot be written to .env: it contains ${mentioned}=`, {
    why: "the agent would read the rest as another variable",
  });
}

/**
 * Quotes a value so that systemd (`EnvironmentFile=`) and python-dotenv read the same; refuses a value for
 * which that is impossible. Seen with systemd 252 and 257, python-dotenv 0.21 and 1.0.1 (test/lab/env-file.test.ts).
 */
export function dotenv(name: string, value: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    throw new Fault("bad-input", `${JSON.stringify(name)} is not a variable name`, {
      why: "it should be letters, digits and _, and not begin with a digit",
    });
  }
  const refused = (flaw: string, why: string) =>
    new Fault("bad-input", `the value of ${name} cannot be written to .env: it ${flaw}`, { why });
  for (const { of, found, has, why } of flaws) {
    const [match] = of && !of.test(name) ? [] : (found.exec(value) ?? []);
    if (match !== undefined) throw refused(typeof has === "string" ? has : has(match), why.replace("NAME", name));
  }
  // The limit of execve.
  if (Buffer.byteLength(`${name}=${value}`) > 131_071)
    throw refused("is too long", "a variable and its value can have 131071 bytes");
  if (unquoted.test(value)) return value;
  // Inside '' systemd leaves a backslash alone; dotenv reads \\ and \' as one character.
  if (!/'|\\\\/.test(value)) return `'${value}'`;
  return `"${value.replace(/[\\"]/g, "\\$&")}"`;
}

const unquoted = /^[A-Za-z0-9_./:@%+,=~^-]*$/;
const names: Record<string, string> = { "\n": "a newline", "\r": "a carriage return", "\0": "a NUL" };

const hasCharacter = (character: string): string => {
  const code = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
  return `has ${names[character] ? `${names[character]} (${code})` : `the character ${code}`} in it`;
};

interface Flaw {
  /** Only in variables of these names. */
  of?: RegExp;
  found: RegExp;
  /** The value is not shown: at most the offending character. */
  has: string | ((found: string) => string);
  /** NAME stands for the variable. */
  why: string;
}

const flaws: Flaw[] = [
  // systemd and dotenv accept a newline in quotes, but an agent may split the file into lines.
  { found: /(?!\t)\p{Cc}/u, has: hasCharacter, why: "the file is read line by line, as plain text" },
  {
    found: /\p{Surrogate}|\p{Noncharacter_Code_Point}/u,
    has: hasCharacter,
    why: "it is not a valid character, and systemd would refuse the file",
  },
  // dotenv expands it in any quotes and has no escape for it; systemd expands nothing.
  {
    found: /\$\{[^}:]*(:-[^}]*)?\}/,
    has: "has $ with {…} behind it",
    why: "python-dotenv would replace it with the value of another variable",
  },
  // dotenv takes the closing quote, and everything up to the next quote, as part of the value.
  { found: /\\$/, has: "ends with a backslash", why: "python-dotenv would read the next variable as part of it" },
  {
    of: /_(KEY|TOKEN|SECRET)$/,
    found: /[^\0-\x7f]/u,
    has: hasCharacter,
    why: "the agent drops non-ASCII characters from NAME",
  },
  // An agent may take a line with two known names for two lines, and rewrite the file. These are the largest groups.
  {
    found: /[A-Z][A-Z0-9]*_(API_KEY|(BOT|APP|ACCESS)_TOKEN|BASE_URL|HOME_CHANNEL|ALLOWED_USERS)=/,
    has: "contains NAME= with a variable of the agent",
    why: "the agent would read the rest as another variable",
  },
];
