import type { Facts } from "../../../src/remote/facts.js";

/** A host on which nothing is wrong. */
export const sampleFacts: Facts = {
  user: "clm",
  hostname: "wolf-i",
  os: "debian",
  os_version: "12",
  os_name: "Debian GNU/Linux 12 (bookworm)",
  arch: "x86_64",
  kernel: "6.1.0-18-amd64",
  cpus: 8,
  memory_mb: 16000,
  memory_free_mb: 8000,
  disk_total_mb: 100_000,
  disk_free_mb: 50_001,
  systemd: 252,
  system_state: "running",
  sudo: "passwordless",
  gpu: ["nvidia"],
  clock_ahead: 0,
};
