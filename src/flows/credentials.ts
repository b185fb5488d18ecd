import { readFile } from "node:fs/promises";
import { limit } from "../async/limit.js";
import { Fault, isFault } from "../errors.js";
import type { ConnectOptions } from "../remote/connect.js";
import { Secret } from "../secret.js";
import type { Setting } from "./session.js";

/** Hidden prompts, asked once each; scripts use a file or $CLM_SUDO_PASSWORD. None is ever an argument or stored. */
export function askingPerson({ ui, env, sudoPasswordFile }: Setting): ConnectOptions["credentials"] {
  const answers = new Map<string, Promise<Secret | undefined>>();
  // Prompts for several hosts come one after the other.
  const inTurn = limit(1);

  const once = (key: string, get: () => Promise<Secret | undefined>): Promise<Secret | undefined> => {
    const known = answers.get(key);
    if (known) return known;
    const answer = inTurn(async () => {
      const secret = await get();
      if (secret) ui.hide(secret);
      return secret;
    });
    answers.set(key, answer);
    return answer;
  };
  const ask = (message: string, flag: string) => async (): Promise<Secret | undefined> => {
    try {
      return await ui.askSecret({ message, flag });
    } catch (error) {
      if (isFault(error, "needs-answer")) return undefined;
      throw error;
    }
  };

  return {
    passphrase: (identity) => once(`key ${identity}`, ask(`Passphrase for ${identity}`, "an ssh agent")),
    password: (login) => once(`login ${login}`, ask(`Password for ${login}`, "a key")),
    sudo: (login) =>
      once(`sudo ${login}`, async () => {
        if (sudoPasswordFile) return passwordIn(sudoPasswordFile);
        if (env.CLM_SUDO_PASSWORD) return new Secret(env.CLM_SUDO_PASSWORD);
        return ask(`sudo password of ${login}`, "--sudo-password-file")();
      }),
  };
}

async function passwordIn(file: string): Promise<Secret> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new Fault("bad-input", `the sudo password cannot be read from ${file}`, { why: error.message, cause: error });
  });
  return new Secret(text.replace(/\r?\n$/, ""));
}
