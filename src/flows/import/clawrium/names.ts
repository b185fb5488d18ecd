import { Fault } from "../../../errors.js";
import { type HostName, hostNameFrom } from "../../../names.js";
import type { OldHost } from "./shapes.js";

export function validName(text: string): string {
  const made = text
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+/, "")
    .slice(0, 63)
    .replace(/[._-]+$/, "");
  return made || "unnamed";
}

/** The first of name, name-2, name-3 … that is free; adds it to `taken`. */
export function freeName(name: string, taken: Set<string>): string {
  let free = name;
  for (let number = 2; taken.has(free); number++) free = `${name.slice(0, 58)}-${number}`;
  taken.add(free);
  return free;
}

/** Every name of a host in Clawrium, the most common one first. */
export const wordsFor = ({ alias, aliases, key_id, hostname }: OldHost): string[] =>
  [alias, ...aliases, key_id, hostname].filter((word): word is string => word !== undefined && word !== "");

/** The new names of the hosts, in order; `chosen` are `--host OLD=NAME`. */
export function hostNames(hosts: OldHost[], chosen: string[]): HostName[] {
  const byWord = new Map(chosen.map(choiceFrom));
  const words = hosts.map((host) => wordsFor(host).find((word) => byWord.has(word)) ?? "");
  const unknown = [...byWord.keys()].find((word) => !words.includes(word));
  if (unknown !== undefined) {
    throw new Fault("not-found", `Clawrium has no host called '${unknown}'`, {
      why: `it has ${hosts.map((host) => wordsFor(host)[0]).join(", ") || "none"}`,
      next: "clm import clawrium --dry-run",
    });
  }
  const taken = new Set<string>();
  const names = words.map((word, index) => {
    const name = byWord.get(word);
    if (name && taken.has(name)) {
      const why = `one of them is ${hosts[index]?.hostname}`;
      throw new Fault("bad-input", `two hosts would be called ${name}`, { why });
    }
    if (name) taken.add(name);
    return name;
  });
  return hosts.map((host, index) => names[index] ?? hostNameFrom(freeName(validName(wordsFor(host)[0] ?? ""), taken)));
}

function choiceFrom(text: string): [old: string, name: HostName] {
  const at = text.lastIndexOf("=");
  if (at > 0) return [text.slice(0, at), hostNameFrom(text.slice(at + 1))];
  throw new Fault("bad-input", `'${text}' does not name a host`, { why: "it is written --host OLD=NAME" });
}
