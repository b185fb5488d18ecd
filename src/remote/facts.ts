import { Fault } from "../errors.js";
import type { HostFacts } from "../state/hosts.js";
import factsScript from "./facts.sh?raw";
import type { Shell } from "./process.js";
import { run } from "./run.js";
import type { SudoKind } from "./target/target.js";

export interface Facts extends Omit<HostFacts, "seen_at"> {
  user: string;
  memory_free_mb: number;
  /** Output of `systemctl is-system-running`. */
  system_state: string;
  sudo: SudoKind;
  /** Seconds the host's clock is ahead of ours, give or take the round trip. */
  clock_ahead: number;
}

export async function readFacts(
  shell: Shell,
  now: () => Date = () => new Date(),
  signal?: AbortSignal,
): Promise<Facts> {
  const asked = now().getTime();
  const { code, stdout, stderr } = await run(shell, "/bin/sh -s", { stdin: factsScript, timeout: 30_000, signal });
  const middle = (asked + now().getTime()) / 2;
  if (code === 0 && /^end=facts$/m.test(stdout)) return parseFacts(stdout, middle / 1000);
  throw new Fault("unsupported", "the host's facts could not be read", {
    why: stderr.trim() || `its /bin/sh ended with ${code}`,
  });
}

// PCI vendor ids of GPUs that run models.
const gpuVendors = new Map([
  ["0x10de", "nvidia"],
  ["0x1002", "amd"],
  ["0x8086", "intel"],
]);

export function parseFacts(text: string, ourClock: number): Facts {
  const said = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const at = line.indexOf("=");
    if (at > 0) said.set(line.slice(0, at), [...(said.get(line.slice(0, at)) ?? []), line.slice(at + 1).trim()]);
  }
  const word = (key: string) => said.get(key)?.[0] ?? "";
  const count = (key: string) => Number.parseInt(word(key), 10) || 0;
  const megabytes = (key: string) => Math.round(count(key) / 1024);
  return {
    user: word("user"),
    hostname: word("hostname"),
    os: word("os").toLowerCase(),
    os_version: word("os_version"),
    os_name: word("os_name"),
    arch: word("arch"),
    kernel: word("kernel"),
    cpus: count("cpus"),
    memory_mb: megabytes("memory_kb"),
    memory_free_mb: megabytes("memory_free_kb"),
    disk_total_mb: megabytes("disk_kb"),
    disk_free_mb: megabytes("disk_free_kb"),
    systemd: count("systemd"),
    system_state: word("system_state"),
    sudo: sudoKind(word("sudo")),
    gpu: (said.get("gpu") ?? []).map((vendor) => gpuVendors.get(vendor) ?? "other"),
    clock_ahead: Math.round(count("clock") - ourClock),
  };
}

function sudoKind(text: string): SudoKind {
  return text === "root" || text === "passwordless" || text === "password" ? text : "none";
}
