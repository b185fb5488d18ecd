import { execFileSync, spawnSync } from "node:child_process";
import { hostStore } from "../../src/state/hosts.js";

/** Changes the network of a lab host from outside, unnoticed on the host. */
export interface Closed {
  open(): void;
}

const nothing = { input: "", output: "" };
const onlySsh = { input: "iif lo accept; tcp dport 22 accept;", output: "oif lo accept; tcp sport 22 accept;" };

/** Drops all packets silently, as when the cable is pulled. */
export const cutOff = (home: string, host: string): Closed => closedBut(home, host, nothing);

/** Drops all packets except those of its SSH server. */
export const closedButForSsh = (home: string, host: string): Closed => closedBut(home, host, onlySsh);

function closedBut(home: string, host: string, passes: typeof nothing): Closed {
  const space = namespaceOf(addressOf(home, host));
  const nft = (args: string[], input = "") =>
    execFileSync("ip", ["netns", "exec", space, "nft", ...args], { input, encoding: "utf8" });
  const chain = (hook: keyof typeof passes) =>
    `chain ${hook} { type filter hook ${hook} priority 0; policy drop; ${passes[hook]} }`;
  // Rules left by a killed run would block the next one.
  spawnSync("ip", ["netns", "exec", space, "nft", "delete", "table", "inet", "closed"]);
  nft(["--file", "-"], `table inet closed {\n${chain("input")}\n${chain("output")}\n}\n`);
  return { open: () => void nft(["delete", "table", "inet", "closed"]) };
}

function addressOf(home: string, host: string): string {
  const found = hostStore(home)
    .read()
    .hosts.find(({ name }) => name === host);
  if (!found) throw new Error(`there is no host ${host}`);
  return found.address;
}

function namespaceOf(address: string): string {
  const spaces = execFileSync("ip", ["netns", "list"], { encoding: "utf8" }).split("\n");
  const found = spaces
    .map((line) => line.split(" ")[0] ?? "")
    .find(
      (each) =>
        each && spawnSync("ip", ["-n", each, "-4", "addr"], { encoding: "utf8" }).stdout.includes(`inet ${address}/`),
    );
  if (!found) throw new Error(`no network namespace has ${address}`);
  return found;
}
