import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";
import { parse } from "yaml";
import { type HostKey, parsePublicKey } from "../../../../src/remote/host-keys/key.js";

const folder = new URL("../../../cases/known-hosts/", import.meta.url);
const load = <T>(name: string): T => parse(readFileSync(new URL(name, folder), "utf8")) as T;

export const keys = load<Record<string, { line: string; fingerprint: string }>>("keys.yaml");

/** `[line, key]` or `[line, key, marker]`. */
export type ExpectedKey = [line: number, key: string, marker?: string];

export interface Lookup {
  name: string;
  text: string;
  ask: Record<string, ExpectedKey[]>;
  ignored?: number[];
  differs?: string;
  unhashable?: string;
}

export interface Judged {
  name: string;
  pins?: string;
  user?: string;
  offered: string;
  expect: { kind: string; by?: string; where?: string; expected?: string[]; at?: number };
}

export const lookups = load<Lookup[]>("lookup.yaml");
export const judged = load<Judged[]>("verdict.yaml");

/** Puts the key lines in the place of `<ed1>` and the like. */
export const withKeys = (text: string) => text.replace(/<(\w+)>/g, (as, name) => keys[name]?.line ?? as);

export function key(name: string): HostKey {
  const found = parsePublicKey(keys[name]?.line ?? "");
  if (!found) throw new Error(`no key is called ${name}`);
  return found;
}

export function keyName(blob: Buffer): string {
  return Object.keys(keys).find((name) => key(name).blob.equals(blob)) ?? "another key";
}

/** A folder that is gone after the test. */
export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), "clm-host-keys-"));
  made.push(folder);
  return folder;
}

const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** What ssh-keygen prints; an exit code of 1 (nothing found) is no error. */
export function sshKeygen(...argv: string[]): string {
  try {
    return execFileSync("ssh-keygen", argv, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  } catch (error) {
    const { status, stdout } = error as { status: number; stdout: string };
    if (status === 1) return stdout;
    throw error;
  }
}
