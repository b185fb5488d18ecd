import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { Fault } from "../errors.js";
import { lastLines } from "../text/last-lines.js";
import type { Progress } from "../ui/ui.js";
import { attempt, hasProgram, run } from "./command.js";
import { machineDirectory, withLock } from "./lock.js";
import { anyFilter, type LabNames } from "./names.js";
import { network } from "./subnet.js";

const forwarding = "/proc/sys/net/ipv4/ip_forward";

// For all labs of the machine: forwarding was off before the first one with internet, so the last one turns it off.
const wasOff = `${machineDirectory}/forwarding-was-off`;

export async function openNat(names: LabNames, subnet: number, progress: Progress): Promise<void> {
  await withLock(machineDirectory, {}, async () => {
    await closeFilter(names);
    const troubles: string[] = [];
    // iptables first: where it is in use (Docker, ufw), only its rules can allow forwarding.
    for (const attemptRules of [withIptables, withNft]) {
      const trouble = await attemptRules(names, subnet);
      if (trouble === undefined) return allowForwarding(progress);
      troubles.push(...trouble);
      await closeFilter(names);
    }
    throw new Fault("local-setup", "NAT for the lab could not be set up", {
      why: troubles,
      next: "sudo apt-get install nftables",
    });
  });
}

export async function closeNat(names: LabNames): Promise<void> {
  await withLock(machineDirectory, {}, async () => {
    await closeFilter(names);
    if (!existsSync(wasOff) || (await rules()).length > 0) return;
    await writeFile(forwarding, "0\n");
    await rm(wasOff);
  });
}

async function allowForwarding(progress: Progress): Promise<void> {
  if ((await readFile(forwarding, "utf8")).trim() !== "0") return;
  await writeFile(wasOff, "");
  await writeFile(forwarding, "1\n");
  progress.output("turned on net.ipv4.ip_forward; `clm lab down` turns it off again");
}

type Trouble = string[] | undefined;

async function withIptables({ bridge, filter }: LabNames, subnet: number): Promise<Trouble> {
  if (!hasProgram("iptables")) return ["iptables is not installed"];
  const mark = `-m comment --comment ${filter}`;
  const rules = [
    `-t nat -A POSTROUTING -s ${network(subnet)} ! -o ${bridge} ${mark} -j MASQUERADE`,
    `-t filter -I FORWARD -i ${bridge} ${mark} -j ACCEPT`,
    `-t filter -I FORWARD -o ${bridge} ${mark} -j ACCEPT`,
  ];
  for (const rule of rules) {
    const { code, stderr } = await attempt("iptables", ["--wait", ...rule.split(" ")]);
    if (code !== 0) return lastLines(stderr, 1).map((line) => `iptables: ${line}`);
  }
  return undefined;
}

async function withNft({ bridge, filter }: LabNames, subnet: number): Promise<Trouble> {
  if (!hasProgram("nft")) return ["nft is not installed"];
  const input = `table ip ${filter} {
  chain out {
    type nat hook postrouting priority srcnat
    ip saddr ${network(subnet)} oifname != "${bridge}" masquerade
  }
}\n`;
  const { code, stderr } = await attempt("nft", ["--file", "-"], { input });
  return code === 0 ? undefined : lastLines(stderr, 1).map((line) => `nft: ${line}`);
}

async function closeFilter({ filter }: LabNames): Promise<void> {
  for (const rule of await rules()) if (rule.filter === filter) await run(rule.program, rule.removal);
}

interface Rule {
  filter: string;
  program: string;
  removal: string[];
}

/** Rules of all labs in this machine's packet filter, found by name. */
async function rules(): Promise<Rule[]> {
  const found: Rule[] = [];
  const add = (text: string, program: string, removal: (filter: string) => string[]) => {
    const [filter] = anyFilter.exec(text) ?? [];
    if (filter !== undefined) found.push({ filter, program, removal: removal(filter) });
  };
  if (hasProgram("nft")) {
    const { stdout } = await attempt("nft", ["list", "tables", "ip"]);
    for (const line of stdout.split("\n")) add(line, "nft", (filter) => ["delete", "table", "ip", filter]);
  }
  if (!hasProgram("iptables")) return found;
  for (const table of ["nat", "filter"]) {
    const { stdout } = await attempt("iptables", ["--wait", "-t", table, "-S"]);
    for (const line of stdout.split("\n").filter((rule) => rule.startsWith("-A "))) {
      const words = line.replaceAll('"', "").split(" ").slice(1);
      add(line, "iptables", () => ["--wait", "-t", table, "-D", ...words]);
    }
  }
  return found;
}

/** /etc/resolv.conf of a host with internet: this machine's name servers that the host can reach. */
export async function nameServers(): Promise<string> {
  // systemd-resolved answers on loopback only; the second file has the real servers.
  for (const file of ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"]) {
    const text = await readFile(file, "utf8").catch(() => "");
    const servers = [...text.matchAll(/^nameserver\s+(\S+)/gm)].map(([, server = ""]) => server);
    const reachable = servers.filter((server) => isIP(server) === 4 && !server.startsWith("127."));
    if (reachable.length > 0) return reachable.map((server) => `nameserver ${server}\n`).join("");
  }
  throw new Fault("local-setup", "this machine has no name server that a lab host can reach", {
    why: "/etc/resolv.conf has only loopback addresses",
  });
}
