import { Fault } from "../../errors.js";

/**
 * One spelling of a value that systemd (`EnvironmentFile=`) and python-dotenv read alike. What has
 * none is refused. Seen with systemd 252 and 257, python-dotenv 0.21 and 1.0.1; test/lab/env-file.test.ts shows it again.
 */
export function dotenv(name: string, value: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    throw new Fault("bad-input", `${JSON.stringify(name)} is no name for a variable`, {
      why: "it should be letters, digits and _, and not begin with a digit",
    });
  }
  const flaw = flaws.map((find) => find(name, value)).find((found) => found !== undefined);
  if (flaw) {
    throw new Fault("bad-input", `the value of ${name} cannot be written to .env: it ${flaw.has}`, { why: flaw.why });
  }
  if (plain.test(value)) return value;
  // Inside '' systemd leaves a backslash alone; dotenv reads \\ and \' as one character.
  if (!/'|\\\\/.test(value)) return `'${value}'`;
  return `"${value.replace(/[\\"]/g, "\\$&")}"`;
}

const plain = /^[A-Za-z0-9_./:@%+,=~^-]*$/;

type Flaw = { has: string; why: string } | undefined;

const names: Record<string, string> = { "\n": "a newline", "\r": "a carriage return", "\0": "a NUL" };

const spelled = (character: string): string => {
  const code = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
  return names[character] ? `${names[character]} (${code})` : `the character ${code}`;
};

/** Each looks for one thing, and tells of it without a bit of the value but the character that is the trouble. */
const flaws: ((name: string, value: string) => Flaw)[] = [
  // systemd reads a newline in quotes as one and dotenv too, but an agent may split the file by lines.
  (_, value) => {
    const control = /(?!\t)\p{Cc}/u.exec(value)?.[0];
    if (control === undefined) return;
    return { has: `has ${spelled(control)} in it`, why: "the file is read line by line, as plain text" };
  },
  // One of these and systemd refuses the whole file.
  (_, value) => {
    const odd = /\p{Surrogate}|\p{Noncharacter_Code_Point}/u.exec(value)?.[0];
    if (odd === undefined) return;
    return { has: `has ${spelled(odd)} in it`, why: "that is no character, and systemd would refuse the file" };
  },
  // dotenv expands it in any quotes and knows no way to say it; systemd expands nothing.
  (_, value) =>
    /\$\{[^}:]*(:-[^}]*)?\}/.test(value)
      ? { has: "has $ with {…} behind it", why: "python-dotenv would put the value of another variable there" }
      : undefined,
  // dotenv takes the quote after it for a part of the value, and whatever follows up to the next quote.
  (_, value) =>
    value.endsWith("\\")
      ? { has: "ends with a backslash", why: "python-dotenv would read the next variable as a part of it" }
      : undefined,
  (name, value) => {
    const [foreign] = /_(KEY|TOKEN|SECRET)$/.test(name) ? (/[^\0-\x7f]/u.exec(value) ?? []) : [];
    return foreign
      ? { has: `has ${spelled(foreign)} in it`, why: `the agent leaves out what is not ASCII in ${name}` }
      : undefined;
  },
  // An agent may take a line with two names it knows for two lines whose newline was lost, and rewrite the file. It knows
  // some hundred names; these are the ones there are dozens of.
  (_, value) => {
    const [known] =
      /[A-Z][A-Z0-9]*_(API_KEY|(BOT|APP|ACCESS)_TOKEN|BASE_URL|HOME_CHANNEL|ALLOWED_USERS)=/.exec(value) ?? [];
    return known
      ? {
          has: "has NAME= in it, with a name that the agent knows",
          why: "the agent would take the rest for another variable",
        }
      : undefined;
  },
  // execve takes no longer one.
  (name, value) =>
    Buffer.byteLength(`${name}=${value}`) > 131_071
      ? { has: "is too long", why: "a variable and its value can have 131071 bytes" }
      : undefined,
];
