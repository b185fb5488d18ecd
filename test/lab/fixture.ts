import { randomUUID } from "node:crypto";
import { cp, mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, inject } from "vitest";
import { agentsOf } from "../../src/state/agents.js";
import { hostStore } from "../../src/state/hosts.js";
import { agentsIn } from "./agents.js";
import { clm } from "./clm.js";

export interface LabAgent {
  host: string;
  name: string;
  /** The newest stand-in by default. */
  version?: string;
  /** Options of `clm agent configure`; without them the agent is only installed. */
  configure?: string[];
}

export interface LabOptions {
  /** Everything is set up anew for each test, not once for the file. */
  perTest?: boolean;
  /** Installed and configured before the tests, with the lab's own provider added as `echo`. */
  agents?: readonly LabAgent[];
}

/** Options of `clm agent configure` for an agent that echoes its input. */
export const withEcho = ["--provider", "echo"];

/**
 * The set-up of a test file: a copy of the config directory whose fleet is the shared lab, with these agents. Every agent that
 * is recorded there at the end is removed from its host. Call it at the top of the file, before hooks of its own.
 */
export function labFixture({ perTest = false, agents = [] }: LabOptions = {}) {
  const home = join(tmpdir(), `clm-home-${randomUUID()}`);
  const lab = agentsIn(home);
  const setUp = async () => {
    await mkdir(home, { mode: 0o700 });
    await cp(inject("fleetHome"), home, { recursive: true });
    if (agents.length > 0) await lab.addEcho();
    await eachHost(agents, async ({ host, name, version = "2026.7.1+standin", configure }) => {
      await lab.install(host, name, version);
      if (configure) await lab.must("agent", "configure", name, ...configure);
    });
  };
  const takeDown = async () => {
    await eachHost(recordedIn(home), ({ host, name }) =>
      clm(["agent", "remove", `${host}/${name}`, "--yes", "--no-backup", "--force"], { home }),
    );
    await rm(home, { recursive: true, force: true });
  };
  if (perTest) {
    beforeEach(setUp);
    afterEach(takeDown);
  } else {
    beforeAll(setUp);
    afterAll(takeDown);
  }
  return { home, ...lab };
}

/** Hosts side by side, the agents of one host one after the other. */
async function eachHost<T extends { host: string }>(all: readonly T[], work: (each: T) => Promise<unknown>) {
  const hosts = [...new Set(all.map(({ host }) => host))];
  await Promise.all(
    hosts.map(async (host) => {
      for (const each of all.filter((one) => one.host === host)) await work(each);
    }),
  );
}

/** The agents on hosts of the shared lab; none when a test has broken the records. */
function recordedIn(home: string): { host: string; name: string }[] {
  try {
    const all = agentsOf(hostStore(home).read()).map(({ host, name }) => ({ host: host.name, name }));
    return all.filter(({ host }) => host.startsWith("trial"));
  } catch {
    return [];
  }
}
