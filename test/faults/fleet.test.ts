import { type FSWatcher, watch } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, inject, it } from "vitest";
import { clm, copyOfHome, type Result } from "../lab/clm.js";
import { labFixture } from "../lab/fixture.js";

const shared = inject("fleetHome");
const host = "trial-2";
const agentKey = `${host}:hermes:wolf`;
const planted = "planted-51d0c4";

const { home } = labFixture({ perTest: true });
beforeEach(() => plantSecrets(home));

/** trial-2 has secrets beside those of others. */
async function plantSecrets(folder: string): Promise<void> {
  const at = "2026-01-02T03:04:05.000Z";
  const entry = (value: string) => ({ KEY: { value, created_at: at, updated_at: at, description: "planted" } });
  const secrets = {
    [agentKey]: entry(planted),
    "trial-1:hermes:wolf": entry("another"),
    "provider:open": entry("third"),
  };
  await writeFile(join(folder, "secrets.json"), JSON.stringify(secrets), { mode: 0o600 });
}

/** Another copy of the shared fleet, with the same secrets. */
async function fleetWithSecrets() {
  const copy = await copyOfHome(shared);
  await plantSecrets(copy.home);
  return copy;
}

type Json = Record<string, unknown>;
const text = (folder: string, name: string) => readFile(join(folder, name), "utf8");
const hostsIn = async (folder: string): Promise<Json[]> => JSON.parse(await text(folder, "hosts.json")).hosts;
const pinOf = async (folder: string, name: string) =>
  (await text(folder, "known_hosts")).split("\n").filter((line) => line.startsWith(`${name} `));
const show = async (folder: string, name: string) =>
  JSON.parse((await clm(["host", "show", name, "-o", "json"], { home: folder })).stdout);
const edit = async (change: (record: Json) => void) => {
  const file = JSON.parse(await text(home, "hosts.json"));
  change(file.hosts.find((each: Json) => each.name === host));
  await writeFile(join(home, "hosts.json"), JSON.stringify(file));
};

/** The state that must be the same after every run, without times and volatile facts. */
async function stateOf(folder: string) {
  const hosts = (await hostsIn(folder)).map(({ added_at: _, facts, ...record }) => {
    const { seen_at: _seen, disk_free_mb: _free, ...lasting } = facts as Json;
    return { ...record, facts: lasting };
  });
  return {
    hosts,
    pins: (await text(folder, "known_hosts")).split("\n").sort(),
    secrets: JSON.parse(await text(folder, "secrets.json")),
  };
}

/** Pseudo-random numbers between 0 and 1, from a seed. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

type Moment = { name: string; kill: (folder: string, now: () => void) => () => void };

const after = (delay: number): Moment => ({
  name: `after ${delay} ms`,
  kill: (_, now) => {
    const timer = setTimeout(now, delay);
    return () => clearTimeout(timer);
  },
});

/** Kills at the nth change of the config directory: between two writes, where it hurts most. */
const atChange = (nth: number): Moment => ({
  name: `at change ${nth}`,
  kill: (folder, now) => {
    let seen = 0;
    const watchers: FSWatcher[] = ["", "locks", "backups"].map((name) =>
      watch(join(folder, name), () => {
        if (++seen === nth) now();
      }),
    );
    return () => {
      for (const each of watchers) each.close();
    };
  },
});

const many = process.env.CLM_TEST_EXHAUSTIVE ? 30 : 8;

function momentsIn(took: number): Moment[] {
  const random = seeded(20);
  const delays = Array.from({ length: many }, (_, at) => after(Math.round(((at + random()) / many) * took)));
  return [...delays, ...Array.from({ length: many }, (_, at) => atChange(1 + Math.round((at * 30) / many)))];
}

async function killedAt(moment: Moment, args: string[], folder: string): Promise<Result> {
  let stop = () => {};
  const result = await clm(args, {
    home: folder,
    during: (child) => {
      stop = moment.kill(folder, () => child.kill("SIGKILL"));
    },
  });
  stop();
  return result;
}

interface Trial {
  verb: string;
  args: () => Promise<string[]>;
  /** Whether the command had already completed. */
  done: (names: unknown[]) => boolean;
  /** The expected answer of the same command in that case. */
  answer: number;
}

const addingWolf = async () => {
  const { address, user, identity, fingerprints } = await show(home, "trial-1");
  const reach = ["--address", address, "--user", user, "--identity", identity, "--fingerprint", fingerprints[0]];
  return ["host", "add", "wolf", ...reach, "--label", "rack=b2"];
};

const trials: Trial[] = [
  { verb: "host add", args: addingWolf, done: (names) => names.includes("wolf"), answer: 5 },
  {
    verb: "host rename",
    args: async () => ["host", "rename", host, "second"],
    done: (names) => names.includes("second"),
    answer: 4,
  },
  {
    verb: "host remove",
    args: async () => ["host", "remove", host, "--yes"],
    done: (names) => !names.includes(host),
    answer: 4,
  },
];

describe("killed at any moment and run again, it ends like an undisturbed run", () => {
  it.each(trials)(
    "$verb",
    async ({ args, done, answer }) => {
      const words = await args();
      const begun = performance.now();
      expect(await clm(words, { home })).toMatchObject({ code: 0 });
      const moments = momentsIn(performance.now() - begun);
      const whole = await stateOf(home);
      const killed: string[] = [];

      for (const moment of moments) {
        const trial = await fleetWithSecrets();
        try {
          const { signal } = await killedAt(moment, words, trial.home);
          if (signal === "SIGKILL") killed.push(moment.name);
          const names = (await hostsIn(trial.home)).map(({ name }) => name);
          const again = await clm(words, { home: trial.home });
          // When it had completed, the rerun finds nothing to do, or only the steps after the record.
          const right = done(names) ? [answer, 0] : [0];
          expect([moment.name, right.includes(again.code ?? -1), again.stderr]).toEqual([
            moment.name,
            true,
            again.stderr,
          ]);
          expect({ moment: moment.name, ...(await stateOf(trial.home)) }).toEqual({ moment: moment.name, ...whole });
          // No lock is left: every kind of state can be written at once.
          for (const next of [
            ["host", "update", "trial-1", "--offline", "--label", "after=kill"],
            ["host", "rename", "trial-1", "first"],
            ["audit", "--verify"],
          ]) {
            expect([moment.name, await clm(next, { home: trial.home })]).toMatchObject([moment.name, { code: 0 }]);
          }
        } finally {
          await trial.remove();
        }
      }
      // Otherwise the moments were badly chosen and nothing was tested.
      expect(killed.length).toBeGreaterThan(moments.length / 2);
    },
    900_000,
  );
});

const recorded = {
  type: "hermes",
  version: "2026.7.1",
  status: "installed",
  user: "wolf",
  home: "/home/wolf",
  unit: "hermes-wolf.service",
  port: 8642,
  onboarding: { state: "ready", stages: {} },
};

describe("a host with agents", () => {
  beforeEach(() =>
    edit((record) => {
      record.agents = { wolf: recorded };
    }),
  );

  it("is not removed, and the alternatives are named", async () => {
    const before = await stateOf(home);
    for (const more of [[], ["--yes"]]) {
      const { code, stderr } = await clm(["host", "remove", host, ...more], { home });
      expect([code, stderr]).toEqual([5, expect.stringMatching(/wolf[\s\S]*CLM-1004[\s\S]*--forget/)]);
    }
    expect(await stateOf(home)).toEqual(before);
  });

  it("needs a confirmation before it is forgotten", async () => {
    const before = await stateOf(home);
    expect((await clm(["host", "remove", host, "--forget"], { home })).code).toBe(6);
    expect(await stateOf(home)).toEqual(before);
  });

  it("is forgotten with its secrets and pin when it is gone for good", async () => {
    await edit((record) => {
      record.address = "no-such-host.invalid";
    });
    expect(await clm(["host", "remove", host, "--forget", "--yes"], { home })).toMatchObject({ code: 0 });
    expect((await hostsIn(home)).map(({ name }) => name).sort()).toEqual(["trial-1", "trial-3", "trial13-1"]);
    expect(await pinOf(home, host)).toEqual([]);
    const { [agentKey]: gone, ...others } = JSON.parse(await text(home, "secrets.json"));
    expect(gone).toBeUndefined();
    expect(Object.keys(others)).toEqual(expect.arrayContaining(["trial-1:hermes:wolf", "provider:open"]));
    expect(await filesWith(planted)).toEqual([]);
  });

  it("keeps its agents and their secrets under its new name", async () => {
    const [pin = ""] = await pinOf(home, host);
    const before = JSON.parse(await text(home, "secrets.json"));
    expect(await clm(["host", "rename", host, "second"], { home })).toMatchObject({ code: 0 });
    const secrets = JSON.parse(await text(home, "secrets.json"));
    expect(secrets["second:hermes:wolf"]).toEqual(before[agentKey]);
    expect(Object.keys(secrets)).not.toContain(agentKey);
    expect(secrets["trial-1:hermes:wolf"]).toEqual(before["trial-1:hermes:wolf"]);
    expect(await pinOf(home, "second")).toEqual([pin.replace(host, "second")]);
    expect(await pinOf(home, host)).toEqual([]);
    expect(await show(home, "second")).toMatchObject({ agents: { wolf: { type: "hermes" } } });
    expect((await clm(["host", "exec", "second", "--", "uname", "-n"], { home })).stdout).toBe(`${host}\n`);
  });

  it.each(["trial-1", host])("is not renamed to %s, which is taken", async (taken) => {
    const before = await stateOf(home);
    const { code, stderr } = await clm(["host", "rename", host, taken], { home });
    expect([code, stderr]).toEqual([5, expect.stringContaining("CLM-1003")]);
    expect(await stateOf(home)).toEqual(before);
  });
});

/** The files of the config directory that contain a text. */
async function filesWith(wanted: string): Promise<string[]> {
  const found = await readdir(home, { recursive: true, withFileTypes: true });
  const files = found.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  const contents = await Promise.all(files.map(async (path) => ({ path, text: await readFile(path, "utf8") })));
  return contents.filter((file) => file.text.includes(wanted)).map(({ path }) => path);
}

describe("two clm at once", () => {
  const timeout = { timeout: many * 20_000 };

  it("add different hosts under one name: one wins, with its own pin", timeout, async () => {
    const rivals = await Promise.all(["trial-1", "trial-2"].map((name) => show(home, name)));
    for (let round = 1; round <= many; round++) {
      const name = `contested-${round}`;
      const add = ({ address, user, identity, fingerprints }: Record<string, string>) =>
        clm(
          [
            ...["host", "add", name, "--address", address ?? "", "--user", user ?? "", "--identity", identity ?? ""],
            ...["--fingerprint", fingerprints?.[0] ?? ""],
          ],
          { home },
        );
      const results = await Promise.all(rivals.map(add));
      expect([round, ...results.map(({ code }) => code).sort()]).toEqual([round, 0, 5]);
      const winner = rivals[results.findIndex(({ code }) => code === 0)];
      const { address, fingerprints } = await show(home, name);
      expect({ round, address, fingerprints }).toEqual({
        round,
        address: winner.address,
        fingerprints: winner.fingerprints,
      });
      const { stdout } = await clm(["host", "exec", name, "--", "uname", "-n"], { home });
      expect(stdout).toBe(`${winner.name}\n`);
    }
    expect((await clm(["audit", "--verify"], { home })).code).toBe(0);
  });

  it("rename one host to two names: one wins, and the pin follows", timeout, async () => {
    let from = host;
    for (let round = 1; round <= many; round++) {
      const names = [`left-${round}`, `right-${round}`];
      const results = await Promise.all(names.map((to) => clm(["host", "rename", from, to], { home })));
      expect([round, ...results.map(({ code }) => code).sort()]).toEqual([round, 0, 4]);
      const winner = names[results.findIndex(({ code }) => code === 0)] ?? "";
      expect(await show(home, winner)).toMatchObject({ labels: { lab: "trial" } });
      expect([round, await pinOf(home, winner)]).toEqual([round, [expect.any(String)]]);
      expect(Object.keys(JSON.parse(await text(home, "secrets.json")))).toContain(`${winner}:hermes:wolf`);
      from = winner;
    }
  });
});
