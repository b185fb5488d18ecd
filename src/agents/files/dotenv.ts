import { Fault } from "../../errors.js";

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
const names: Record<string, string> = { "\n": "a newline", "\r": "a carriage return", "\0": "a NUL" };

const spelled = (character: string): string => {
  const code = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
  return names[character] ? `${names[character]} (${code})` : `the character ${code}`;
};

/** Each reports one flaw, without showing the value: at most the offending character. */
const flaws: ((name: string, value: string) => { has: string; why: string } | undefined)[] = [
  // systemd and dotenv accept a newline in quotes, but an agent may split the file into lines.
  (_, value) => {
    const control = /(?!\t)\p{Cc}/u.exec(value)?.[0];
    if (control === undefined) return;
    return { has: `has ${spelled(control)} in it`, why: "the file is read line by line, as plain text" };
  },
  // systemd refuses the whole file for one such character.
  (_, value) => {
    const odd = /\p{Surrogate}|\p{Noncharacter_Code_Point}/u.exec(value)?.[0];
    if (odd === undefined) return;
    return { has: `has ${spelled(odd)} in it`, why: "it is not a valid character, and systemd would refuse the file" };
  },
  // dotenv expands it in any quotes and has no escape for it; systemd expands nothing.
  (_, value) =>
    /\$\{[^}:]*(:-[^}]*)?\}/.test(value)
      ? { has: "has $ with {…} behind it", why: "python-dotenv would replace it with the value of another variable" }
      : undefined,
  // dotenv takes the closing quote, and everything up to the next quote, as part of the value.
  (_, value) =>
    value.endsWith("\\")
      ? { has: "ends with a backslash", why: "python-dotenv would read the next variable as part of it" }
      : undefined,
  (name, value) => {
    const [foreign] = /_(KEY|TOKEN|SECRET)$/.test(name) ? (/[^\0-\x7f]/u.exec(value) ?? []) : [];
    return foreign
      ? { has: `has ${spelled(foreign)} in it`, why: `the agent drops non-ASCII characters from ${name}` }
      : undefined;
  },
  // An agent may take a line with two known names for two lines, and rewrite the file. These are the largest groups.
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
  // The limit of execve.
  (name, value) =>
    Buffer.byteLength(`${name}=${value}`) > 131_071
      ? { has: "is too long", why: "a variable and its value can have 131071 bytes" }
      : undefined,
];
