import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { bundling } from "../../scripts/build.mjs";
import { clm, median, race } from "../measure.mjs";
import { sized } from "../size.mjs";

const agentsPerHost = 10;

const agent = (name, at) => ({
  type: "hermes",
  version: "2026.7.1",
  status: "installed",
  user: name,
  home: `/home/${name}`,
  unit: `hermes-${name}.service`,
  port: 8642 + at,
  onboarding: { state: "providers", stages: {} },
});

function fleet(hosts) {
  const seen_at = new Date().toISOString();
  const facts = {
    os: "debian",
    os_version: "12",
    os_name: "Debian",
    arch: "x86_64",
    kernel: "6",
    hostname: "h",
    gpu: [],
    seen_at,
  };
  const sizes = { cpus: 4, memory_mb: 16000, disk_total_mb: 100000, disk_free_mb: 50000, systemd: 252 };
  const host = (_, at) => ({
    name: `h-${at}`,
    address: `198.18.0.${at}`,
    labels: {},
    sudo: "passwordless",
    added_at: seen_at,
    facts: { ...facts, ...sizes },
    agents: Object.fromEntries(
      Array.from({ length: agentsPerHost }, (_, n) => [`a-${at}-${n}`, agent(`a-${at}-${n}`, n)]),
    ),
  });
  return JSON.stringify({ version: 1, hosts: Array.from({ length: hosts }, host) });
}

/** Milliseconds that the store takes to change one record and flush it to disk. */
async function changeInProcess(home) {
  const outfile = join(home, "store.cjs");
  await build({ ...bundling, format: "cjs", entryPoints: ["src/state/hosts.ts"], outfile });
  const store = createRequire(import.meta.url)(outfile).hostStore(home);
  const times = [];
  for (let turn = 0; turn < sized(15, 1); turn++) {
    const begin = process.hrtime.bigint();
    await store.update((fleet) => {
      fleet.hosts[0].labels.turn = String(turn);
      return fleet;
    });
    times.push(Number(process.hrtime.bigint() - begin) / 1e6);
  }
  return median(times);
}

/** A fleet of 1,000 agents: the time that reading it and changing one record add to a bare start. */
export async function measure() {
  const home = mkdtempSync(join(tmpdir(), "clm-bench-"));
  try {
    writeFileSync(join(home, "hosts.json"), fleet(100), { mode: 0o600 });
    const list = [...clm, "host", "list", "-o", "json"];
    const change = [...clm, "host", "update", "h-1", "--label", "turn=1", "--offline", "-q"];
    const [start, listed, changed] = race([[...clm, "--version"], list, change], 21, { CLM_HOME: home });
    const synced = await changeInProcess(home);
    const added = (what, ms, most) => ({
      what,
      ms,
      against: "clm --version",
      peerMs: start,
      ratio: `+${(ms - start).toFixed(0)} ms`,
      goal: `<= +${most} ms`,
      met: ms - start <= most,
    });
    return [
      added("list 1,000 agents", listed, 50),
      added("one change in 1,000 agents, with its audit lines", changed, 100),
      {
        what: "the same change, in process",
        ms: synced,
        against: "-",
        ratio: "-",
        goal: "<= 30 ms",
        met: synced <= 30,
      },
    ];
  } finally {
    rmSync(home, { recursive: true });
  }
}
