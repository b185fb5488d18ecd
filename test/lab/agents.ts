import { expect } from "vitest";
import { clm, inHost } from "./clm.js";

/** clm with one config directory. */
export function agentsIn(home: string) {
  const must = async (...args: string[]) => {
    const result = await clm(args, { home });
    expect(result, result.stderr).toMatchObject({ code: 0 });
    return result;
  };
  return {
    must,
    /** Configures and returns the JSON result; the test checks the exit code. */
    async configure(name: string, ...args: string[]) {
      const { code, stdout, stderr } = await clm(["agent", "configure", name, ...args, "-o", "json"], { home });
      return { code, stderr, done: stdout === "" ? undefined : JSON.parse(stdout) };
    },
    install: (host: string, name: string, version: string) =>
      must("agent", "install", "--type", "hermes", "--host", host, "--name", name, "--version", version),
    /** Adds the lab's own provider, which echoes its input. */
    addEcho: () => must("provider", "add", "echo", ...asEcho),
    remove: (name: string) => clm(["agent", "remove", name, "--yes", "--no-backup"], { home }),
  };
}

/** Options of `clm provider add` for the lab's own provider, which echoes its input. */
export const asEcho = ["--type", "ollama", "--endpoint", "http://127.0.0.1:4180", "--model", "echo-1"];

export const unitOf = (name: string): string => `hermes-${name}.service`;

export async function pidOf(host: string, name: string): Promise<string> {
  return (await inHost(host, `systemctl show -p MainPID --value ${unitOf(name)}`)).trim();
}

/** Makes a stand-in misbehave, from its next start on. */
export const misbehave = (host: string, name: string, words: string): Promise<string> =>
  inHost(
    host,
    `printf '%s\\n' '${words}' >/home/${name}/.hermes/.standin
chown ${name}: /home/${name}/.hermes/.standin
systemctl reset-failed ${unitOf(name)} 2>/dev/null
systemctl restart ${unitOf(name)}`,
  );
