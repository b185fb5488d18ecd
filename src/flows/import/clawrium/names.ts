import { Fault } from "../../../errors.js";
import { type HostName, hostNameFrom } from "../../../names.js";
import type { OldHost } from "./shapes.js";

/** A name as clm allows it, made of one that Clawrium allowed. */
export function validName(text: string): string {
  const made = text
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+/, "")
    .slice(0, 63)
    .replace(/[._-]+$/, "");
  return made || "unnamed";
}

/** The first of name, name-2, name-3 … that is not taken; it is taken then. */
export function freeName(name: string, taken: Set<string>): string {
  let free = name;
  for (let number = 2; taken.has(free); number++) free = `${name.slice(0, 58)}-${number}`;
  taken.add(free);
  return free;
}

/** Everything a host is called in Clawrium, the name its user most likely says first. */
export const wordsFor = ({ alias, aliases, key_id, hostname }: OldHost): string[] =>
  [alias, ...aliases, key_id, hostname].filter((word): word is string => word !== undefined && word !== "");

/** What each host is called from now on, in their order; `chosen` are `--host OLD=NAME`. */
export function hostNames(hosts: OldHost[], chosen: string[]): HostName[] {
  const wishes = new Map(chosen.map(wishFrom));
  const wishFor = (host: OldHost) => wordsFor(host).find((word) => wishes.has(word));
  const wished = hosts.map(wishFor);
  const unknown = [...wishes.keys()].find((word) => !wished.includes(word));
  if (unknown !== undefined) {
    throw new Fault("not-found", `Clawrium has no host called '${unknown}'`, {
      why: `it has ${hosts.map((host) => wordsFor(host)[0]).join(", ") || "none"}`,
      next: "clm import clawrium --dry-run",
    });
  }
  const taken = new Set<string>();
  for (const [index, word] of wished.entries()) {
    const name = word !== undefined ? wishes.get(word) : undefined;
    if (name === undefined) continue;
    if (taken.has(name)) throw twice(name, hosts[index]);
    taken.add(name);
  }
  return hosts.map((host, index) => {
    const word = wished[index];
    return (
      (word !== undefined && wishes.get(word)) || hostNameFrom(freeName(validName(wordsFor(host)[0] ?? ""), taken))
    );
  });
}

function wishFrom(text: string): [old: string, name: HostName] {
  const at = text.lastIndexOf("=");
  if (at > 0) return [text.slice(0, at), hostNameFrom(text.slice(at + 1))];
  throw new Fault("bad-input", `'${text}' does not name a host`, { why: "it is written --host OLD=NAME" });
}

const twice = (name: string, host: OldHost | undefined): Fault =>
  new Fault("bad-input", `two hosts would be called ${name}`, { why: `one of them is ${host?.hostname}` });
