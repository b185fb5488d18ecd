import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { labNames, splitHostName } from "../../src/lab/names.js";
import { inHost } from "../lab/clm.js";
import { bundleScript } from "./bundle.js";

export interface Impostor {
  fingerprint: string;
  /** Gives the address back to the host, and returns the recorded attempts. */
  close(): Promise<{ connections: number; authentications: number }>;
}

/** Puts another SSH server, with another key, on a lab host's address and port. */
export async function impostorOn(host: string): Promise<Impostor> {
  const { lab = "", number = 0 } = splitHostName(host) ?? {};
  await inHost(host, "systemctl stop ssh.socket ssh.service 2>/dev/null; systemctl stop ssh");
  const { script, remove } = await bundleScript("test/faults/impostor-child.ts");
  const child = spawn("ip", ["netns", "exec", labNames(lab).host(number).netns, process.execPath, script], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const say = async () => JSON.parse((await lines.next()).value);
  const { fingerprint } = await say();
  return {
    fingerprint,
    close: async () => {
      child.stdin.end();
      const seen = await say();
      await once(child, "exit");
      remove();
      await inHost(host, "systemctl reset-failed ssh; systemctl start ssh");
      return seen;
    },
  };
}
