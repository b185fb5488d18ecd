import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { clm } from "./clm.js";

declare module "vitest" {
  interface ProvidedContext {
    /** A config directory whose fleet is the lab of this run: trial-1..3 (bookworm) and trial13-1 (trixie). */
    fleetHome: string;
  }
}

const labs = [
  ["--name", "trial", "--hosts", "3"],
  ["--name", "trial13", "--release", "trixie"],
];

/** Starts the hosts that all lab tests share, once per run, and takes them down again. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const home = await mkdtemp(join(tmpdir(), "clm-lab-home-"));
  const takeDown = async () => {
    for (const [, name = ""] of labs) await clm(["lab", "down", "--name", name], { home });
  };
  // A killed run left its hosts, with other keys than those about to be pinned.
  await takeDown();
  for (const lab of labs) {
    const { code, stderr } = await clm(["lab", "up", ...lab], { home });
    if (code !== 0) throw new Error(`lab up ${lab.join(" ")} ended with ${code}:\n${stderr}`);
  }
  project.provide("fleetHome", home);
  return async () => {
    await takeDown();
    await rm(home, { recursive: true });
  };
}
