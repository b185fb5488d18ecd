import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { clm, copyOfHome, inHost, type Result } from "../lab/clm.js";

/**
 * Every step of install, configure, rotate-key, stop, start, sync and remove in turn, of an agent and of a program of the
 * user's own: clm is killed there, or its connections are cut, and the same command again must end as if nothing had
 * happened. What the steps are is recorded from an undisturbed run (see steps.cjs), not written down here.
 */
const hosts = ["trial-1", "trial-2", "trial-3"];
const exhaustive = Boolean(process.env.CLM_TEST_EXHAUSTIVE);
const actions = ["kill", "cut"] as const;
const agent = "steps";
const bot = "ticker";
const scratch = mkdtempSync(join(tmpdir(), "clm-steps-"));
const tick = join(scratch, "tick.sh");

const verbs = (host: string) => ({
  install: ["agent", "install", "--type", "hermes", "--host", host, "--name", agent, "--yes"],
  configure: ["agent", "configure", agent, "--provider", "echo"],
  "rotate-key": ["agent", "rotate-key", agent],
  stop: ["agent", "stop", agent],
  start: ["agent", "start", agent],
  sync: ["agent", "sync", agent],
  remove: ["agent", "remove", agent, "--yes"],
  "install a program": ["agent", "install", "--type", "program", "--host", host, "--name", bot],
  "configure a program": ["agent", "configure", bot, "--set", "command=sh tick.sh", "--set", `files=${tick}`],
  "remove a program": ["agent", "remove", bot, "--yes"],
});
type Verb = keyof ReturnType<typeof verbs>;
const order = Object.keys(verbs("")) as Verb[];

/** Other verbs that have to run as well, so that a verb has all of its steps. */
const needs: Partial<Record<Verb, Verb[]>> = {
  "rotate-key": ["configure"],
  stop: ["configure", "start"],
  start: ["configure", "stop"],
  sync: ["configure"],
};

/** Drift for sync to repair. */
const damage = `sed -i '/^API_SERVER_ENABLED=/d' /home/${agent}/.hermes/.env; systemctl stop hermes-${agent}.service`;

interface Place {
  host: string;
  home: string;
  remove: () => Promise<void>;
}

const paths: Place[] = [];
const steps = {} as Record<Verb, string[]>;
const ends = {} as Record<Verb, string>;

beforeAll(async () => {
  writeFileSync(tick, "while :; do sleep 1; done\n");
  const fleet = inject("fleetHome");
  for (const host of hosts) {
    const copy = await copyOfHome(fleet);
    paths.push({ host, ...copy });
    const endpoint = ["--type", "ollama", "--endpoint", "http://127.0.0.1:4180", "--model", "echo"];
    mustSucceed(await clm(["provider", "add", "echo", ...endpoint], { home: copy.home }));
  }
  const [place] = paths;
  if (!place) throw new Error("no place");
  for (const verb of order) {
    const list = join(scratch, `${verb}.json`);
    mustSucceed(await disturbed(place, verb, { CLM_STEPS_TO: list }));
    steps[verb] = JSON.parse(readFileSync(list, "utf8"));
    ends[verb] = await endOf(place);
    if (process.env.CLM_TEST_SHOW_STEPS) console.log(verb, steps[verb]);
  }
});

afterAll(async () => {
  for (const { host, home, remove } of paths) {
    for (const name of [agent, bot]) {
      await clm(["agent", "remove", name, "--yes", "--no-backup"], { home });
      await inHost(host, `! id ${name} 2>/dev/null`);
    }
    await remove();
  }
  rmSync(scratch, { recursive: true });
});

function mustSucceed(result: Result): void {
  if (result.code !== 0) throw new Error(`ended with ${result.code}:\n${result.stdout}\n${result.stderr}`);
}

async function disturbed({ host, home }: Place, verb: Verb, env: Record<string, string>): Promise<Result> {
  if (verb === "sync") await inHost(host, damage);
  return clm([...verbs(host)[verb], "--debug"], {
    home,
    env: { NODE_OPTIONS: `--require ${resolve("test/faults/steps.cjs")}`, ...env },
  });
}

/** The end state on the host and on this machine, which must not depend on interruptions. */
async function endOf(place: Place): Promise<string> {
  return [await endOfAgent(place, "hermes", agent), await endOfAgent(place, "program", bot)].join("\n");
}

async function endOfAgent({ host, home }: Place, type: string, name: string): Promise<string> {
  const data = `/home/${name}/.${type}`;
  const there = await inHost(
    host,
    `cd /home/${name} 2>/dev/null && find . -path ./.hermes/logs -prune -o -path ./.hermes/sessions -prune -o \\
       ! -name 'state.db*' ! -name 'gateway*' ! -name '.cache' -printf '%p %y %m %u\\n' | sort
     sed 's/^API_SERVER_KEY=.*/API_SERVER_KEY=…/' ${data}/.env 2>/dev/null
     cat ${data}/config.yaml ${data}/run /etc/systemd/system/${type}-${name}.service 2>/dev/null
     systemctl show ${type}-${name}.service -p ActiveState -p UnitFileState -p NRestarts
     getent passwd ${name} | sed 's/clm agent [0-9a-f]*/clm agent …/; s/:[0-9]*:[0-9]*:/:…:/'
     find /etc/systemd/system /run/clm -name '*${name}*' | sort; find /run/clm-installers -mindepth 1 2>/dev/null | sort; getent group ${name} | cut -d: -f1,4
     systemctl list-units --all --plain --no-legend 'clm-job-*'`,
  );
  const read = (file: string) => JSON.parse(readFileSync(join(home, file), "utf8"));
  const record = read("hosts.json").hosts.find((each: { name: string }) => each.name === host)?.agents[name];
  const secrets = Object.keys(read("secrets.json")[`${host}:${type}:${name}`] ?? {});
  const plain = JSON.stringify({ record, secrets }, (key, value) =>
    key === "at" || key === "mark" || key === "digest" || key.endsWith("_at") ? "…" : value,
  );
  return `${there}\n${plain}`.replaceAll(host, "HOST");
}

/** The same steps in every run, spread over all of them. */
function* sample(count: number, size: number): Generator<number> {
  for (let at = 0; at < size; at++) yield 1 + Math.floor(((at + 0.5) * count) / size);
}

describe("killed or cut at any step, and run again", () => {
  it("has steps to interrupt", () => {
    for (const verb of order) expect(steps[verb]?.length, verb).toBeGreaterThan(10);
  });

  it(
    "ends as an undisturbed run",
    async () => {
      const most = Math.max(...order.map((verb) => steps[verb].length));
      const rounds = actions.flatMap((action) =>
        [...sample(most, exhaustive ? most : 4)].map((at, index) => ({ action, at, index })),
      );
      const size = rounds.length / actions.length;
      const failures: string[] = [];

      async function round(place: Place, { action, at, index }: (typeof rounds)[number]): Promise<void> {
        // Each verb has its own number of steps: the sample is spread over them, an exhaustive run takes each once.
        const stepOf = (verb: Verb) => (exhaustive ? at : ([...sample(steps[verb].length, size)][index] ?? 1));
        const interrupted = order.filter((verb) => stepOf(verb) <= steps[verb].length);
        const needed = interrupted.flatMap((verb) => needs[verb] ?? []);
        const isRun = (verb: Verb) => [...interrupted, ...needed].includes(verb) || /^(install|remove)/.test(verb);
        for (const verb of order.filter(isRun)) {
          const chosen = stepOf(verb);
          const isIts = interrupted.includes(verb);
          const name = `${verb}, ${action} at step ${chosen} (${steps[verb][chosen - 1]})`;
          if (isIts) {
            const hit = await disturbed(place, verb, { CLM_STEP: String(chosen), CLM_STEP_DO: action });
            if (action === "kill" && hit.signal !== "SIGKILL" && hit.code !== 0)
              failures.push(`${name}: ${hit.stderr}`);
          }
          const rerun = await clm(verbs(place.host)[verb], { home: place.home });
          const gone = verb.startsWith("remove") && rerun.code === 4;
          if (rerun.code !== 0 && !gone) failures.push(`${name}: the rerun ended with ${rerun.code}: ${rerun.stderr}`);
          if (!isIts) continue;
          const end = await endOf(place);
          if (end !== ends[verb]) failures.push(`${name}: ${difference(ends[verb], end)}`);
        }
      }

      const left = [...rounds];
      await Promise.all(
        paths.map(async (place) => {
          for (let next = left.shift(); next; next = left.shift()) await round(place, next);
        }),
      );
      expect(failures).toEqual([]);
    },
    exhaustive ? 7_200_000 : 900_000,
  );
});

/** The lines that only one of the two texts has. */
function difference(expected: string, found: string): string {
  const [a, b] = [expected.split("\n"), found.split("\n")];
  return [
    ...a.filter((line) => !b.includes(line)).map((line) => `-${line}`),
    ...b.filter((line) => !a.includes(line)).map((line) => `+${line}`),
  ].join("\n");
}
