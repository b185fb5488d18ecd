import { existsSync } from "node:fs";
import { chown, copyFile, mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hierarchies, members } from "../../src/lab/cgroup.js";
import { mounts } from "../../src/lab/mounts.js";
import { labNames } from "../../src/lab/names.js";
import { clm, program, type Result, runProgram } from "./clm.js";

/** This file's own labs in its own directory, apart from the hosts that the other files share. */
let folder: string;
let labs: string;
let home: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "clm-labs-"));
  [labs, home] = [join(folder, "labs"), join(folder, "home")];
});
afterAll(async () => {
  await lab("down", "--all");
  await rm(folder, { recursive: true });
});

interface Row {
  name: string;
  lab: string;
  release: string;
  address: string;
  fingerprint: string;
  state: string;
}

const run = (args: string[], during?: (child: { kill(signal: "SIGKILL"): void }) => void) =>
  clm(args, { home, env: { CLM_LAB_DIR: labs }, ...(during && { during }) });

const lab = (verb: string, ...args: string[]): Promise<Result> => run(["lab", verb, ...args]);

async function rows(verb: string, ...args: string[]): Promise<Row[]> {
  const { code, stdout, stderr } = await lab(verb, ...args, "-o", "json");
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
}

const kept = (...files: string[]) => Promise.all(files.map((file) => readFile(join(home, file), "utf8")));

const fleet = async () => (await run(["host", "list", "-o", "name"])).stdout.split("\n").filter(Boolean);

/** Everything on this machine and in the fleet that has a lab's name. */
async function traces(name: string): Promise<string[]> {
  const names = labNames(name, labs);
  const listed = async (directory: string, prefix: string) => {
    const entries = await readdir(directory).catch(() => []);
    return entries.filter((entry) => entry.startsWith(prefix)).map((entry) => join(directory, entry));
  };
  const processes = await Promise.all(
    (await readdir("/proc")).filter(Number).map(async (pid) => {
      const words = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
      return words.includes(names.prefix) || words.includes(names.directory) ? [`process ${pid} ${words}`] : [];
    }),
  );
  const { stdout: filters } = await runProgram("nft", ["list", "tables"]).catch(() => ({ stdout: "" }));
  return [
    ...(await listed("/run/netns", names.prefix)),
    ...(await listed("/run/systemd/nspawn/propagate", names.prefix)),
    ...(await listed("/sys/class/net", names.links)),
    ...(await Promise.all((await hierarchies()).map((place) => listed(place, names.prefix)))).flat(),
    ...(await mounts()).map(({ path }) => path).filter((path) => path.startsWith(names.directory)),
    ...processes.flat(),
    ...filters.split("\n").filter((line) => line.includes(names.filter)),
    ...(existsSync(names.directory) ? [names.directory] : []),
    ...(await fleet()).filter((host) => host.startsWith(`${name}-`)).map((host) => `fleet ${host}`),
  ];
}

describe("a lab that is up", () => {
  let first: Row[];
  beforeAll(async () => {
    first = await rows("up", "--name", "one", "--hosts", "2");
  });

  it("is shown as JSON", () => {
    expect(first).toEqual(
      [1, 2].map((number) => ({
        name: `one-${number}`,
        lab: "one",
        release: "bookworm",
        address: expect.stringMatching(/^198\.18\.\d+\.1\d$/),
        port: 22,
        user: "clm",
        hostKey: expect.stringMatching(/^ssh-ed25519 AAAA/),
        fingerprint: expect.stringMatching(/^SHA256:/),
        state: "running",
      })),
    );
  });

  it("has the traces that must be gone once it is down", async () => {
    const names = labNames("one", labs);
    const found = (await traces("one")).join("\n");
    for (const trace of ["/run/netns/", "/sys/class/net/", "/one-1/root", "process ", names.directory, "fleet one-2"]) {
      expect(found).toContain(trace);
    }
    expect(found).toContain(`${(await hierarchies())[0]}/${names.host(1).cgroup}`);
  });

  it("is unchanged when brought up again", async () => {
    const files = ["hosts.json", "known_hosts", "keys/lab_ed25519"];
    const before = await kept(...files);
    expect(await rows("up", "--name", "one", "--hosts", "2")).toEqual(first);
    expect(await kept(...files)).toEqual(before);
  });

  it.each([
    { wish: ["--hosts", "1"], exit: 2, says: "cannot shrink to 1 host" },
    { wish: ["--hosts", "2", "--release", "trixie"], exit: 2, says: "with bookworm, not trixie" },
    { wish: ["--hosts", "245"], exit: 2, says: "245" },
    { wish: ["--name", "a_b"], exit: 2, says: "cannot be a lab's name" },
  ])("is refused as $wish, and nothing is written", async ({ wish, exit, says }) => {
    const before = await kept("hosts.json", "audit.jsonl");
    const name = wish.includes("--name") ? [] : ["--name", "one"];
    const { code, stderr } = await lab("up", ...name, ...wish);
    expect([code, stderr]).toEqual([exit, expect.stringContaining(says)]);
    expect(await kept("hosts.json", "audit.jsonl")).toEqual(before);
  });

  it("can grow, and its hosts stay as they were", async () => {
    const grown = await rows("up", "--name", "one", "--hosts", "3");
    expect(grown.slice(0, 2)).toEqual(first);
    expect(grown.map(({ name }) => name)).toEqual(["one-1", "one-2", "one-3"]);
    expect((await run(["host", "exec", "one-3", "--", "true"])).code).toBe(0);
  });

  it("can have another beside it, in another subnet", async () => {
    const [other] = await rows("up", "--name", "two", "--release", "trixie");
    const subnet = (row: Row | undefined) => row?.address.replace(/\d+$/, "");
    expect(subnet(other)).not.toBe(subnet(first[0]));
    const all = await rows("status");
    expect(all.map(({ name, release }) => `${name} ${release}`)).toEqual([
      "one-1 bookworm",
      "one-2 bookworm",
      "one-3 bookworm",
      "two-1 trixie",
    ]);
    expect((await lab("down", "--name", "two", "-o", "name")).stdout).toBe("two\n");
    expect(await traces("two")).toEqual([]);
    expect(await rows("status", "--name", "one")).toEqual(all.slice(0, 3));
  });

  it("reports a host whose PID 1 died, and restarts it with its data", async () => {
    const { cgroup } = labNames("one", labs).host(2);
    await lab("exec", "one-2", "--", "touch", "/root/kept");
    const leader = (await members(cgroup)).find(({ role }) => role === "leader");
    if (leader) process.kill(leader.pid, "SIGKILL");
    const states = async () => (await rows("status", "--name", "one")).map(({ state }) => state);
    await expect.poll(states).toEqual(["running", "stopped", "running"]);
    expect((await lab("exec", "one-2", "--", "true")).code).toBe(10);

    const back = await rows("up", "--name", "one", "--hosts", "3");
    expect(back.slice(0, 2)).toEqual(first);
    expect((await lab("exec", "one-2", "--", "ls", "/root/kept")).stdout).toBe("/root/kept\n");
  });

  it.each([
    { host: "one-1", command: ["true"], exit: 0 },
    { host: "one-1", command: ["sh", "-c", "exit 9"], exit: 9 },
    { host: "one-1", command: ["sh", "-c", "kill -TERM $$"], exit: 143 },
    { host: "one-1", command: ["no-such-program"], exit: 127 },
    { host: "one-9", command: ["true"], exit: 4 },
    { host: "nonsense", command: ["true"], exit: 4 },
  ])("exec of $command in $host ends with $exit", async ({ host, command, exit }) => {
    expect(await lab("exec", host, "--", ...command)).toMatchObject({ code: exit });
  });

  it("is removed with everything it made, and nothing of the user's", async () => {
    // Each lacks one property of a lab's own host: the address, the key, the label.
    const key = join(home, "keys", "lab_ed25519");
    const own = join(folder, "own_key");
    await copyFile(key, own);
    const users = [
      ["mine", "--identity", key, "--label", "lab=one"],
      ["one-7", "--identity", own, "--label", "lab=one"],
      ["one-8", "--identity", key],
    ];
    const reach = ["--address", first[0]?.address ?? "", "--user", "clm", "--accept-new"];
    for (const host of users) expect((await run(["host", "add", ...host, ...reach])).code).toBe(0);
    expect((await run(["host", "update", "mine", "--address", "192.0.2.7", "--offline"])).code).toBe(0);
    const taken = await lab("up", "--name", "one", "--hosts", "7");
    expect([taken.code, taken.stderr]).toEqual([5, expect.stringContaining("one-7 that is not a lab host")]);

    // Under any name.
    expect((await run(["host", "rename", "one-2", "wolf"])).code).toBe(0);
    await rows("up", "--name", "one", "--hosts", "3");
    expect(await fleet()).toEqual(["mine", "one-1", "one-3", "one-7", "one-8", "wolf"]);
    const gone = await lab("down", "--name", "one", "-o", "json");
    expect(JSON.parse(gone.stdout)).toEqual([{ name: "one", hosts: ["one-1", "one-2", "one-3", "wolf"] }]);
    await lab("down", "--all");
    expect(await fleet()).toEqual(["mine", "one-7", "one-8"]);
    for (const [name = ""] of users) await run(["host", "remove", name, "--yes"]);
    expect(await traces("one")).toEqual([]);
    expect((await run(["audit", "--verify"])).code).toBe(0);
  });
});

describe("down", () => {
  it("says that there is nothing to do", async () => {
    const { code, stderr } = await lab("down", "--name", "never");
    expect([code, stderr]).toEqual([0, expect.stringContaining("there is no lab called never; nothing to do")]);
    expect((await lab("down", "--all")).stderr).toContain("nothing to do");
  });

  it("keeps foreign files in the directory of labs", async () => {
    const file = join(labs, "papers", "letters", "one.txt");
    await mkdir(file, { recursive: true });
    await lab("down", "--name", "papers");
    await lab("down", "--all");
    expect(existsSync(file)).toBe(true);
    await rm(join(labs, "papers"), { recursive: true });
  });

  it("--all removes the hosts of a lab that no longer exists", async () => {
    await rows("up", "--name", "lost");
    const elsewhere = { CLM_LAB_DIR: join(folder, "empty") };
    const { code, stdout } = await clm(["lab", "down", "--all", "-o", "json"], { home, env: elsewhere });
    expect([code, JSON.parse(stdout)]).toEqual([0, [{ name: "lost", hosts: ["lost-1"] }]]);
    expect(await fleet()).toEqual([]);
    await lab("down", "--name", "lost");
    expect(await traces("lost")).toEqual([]);
  });

  it("stops waiting for another clm's lock at Ctrl-C", async () => {
    const held = join(labs, "busy");
    await mkdir(held, { recursive: true });
    const words = [process.execPath, program, "lab", "down", "--name", "busy"];
    const env = { CLM_HOME: home, CLM_LAB_DIR: labs };
    const { code, stderr } = await runProgram("flock", [held, "timeout", "--signal=INT", "2", ...words], env);
    // 124 is timeout's own exit code: it ended the command.
    expect([code, stderr]).toEqual([124, expect.stringContaining("CLM-7001")]);
    expect((await lab("down", "--name", "busy")).code).toBe(0);
    expect(await traces("busy")).toEqual([]);
  });
});

it("keeps IP forwarding on until the last lab with internet access is down, in whatever directory", async () => {
  const forwards = async () => (await readFile("/proc/sys/net/ipv4/ip_forward", "utf8")).trim();
  const before = await forwards();
  const other = { home: join(folder, "other-home"), env: { CLM_LAB_DIR: join(folder, "other") } };
  try {
    expect((await clm(["lab", "up", "--name", "out", "--internet"], other)).code).toBe(0);
    await rows("up", "--name", "out", "--internet");
    expect(await traces("out")).toContain(`table ip ${labNames("out", labs).filter}`);
    await lab("down", "--name", "out");
    expect(await traces("out")).toEqual([]);
    expect(await forwards()).toBe("1");
  } finally {
    await clm(["lab", "down", "--name", "out"], other);
  }
  expect(await forwards()).toBe(before);
});

describe("nothing is written", () => {
  it("without root, and the command with sudo is named", async () => {
    const nobody = 65534;
    const place = join(folder, "nobody");
    await mkdir(place);
    await chown(place, nobody, nobody);
    // The parent folder is root's; a folder that others cannot enter would fail for another reason.
    await runProgram("chmod", ["755", folder]);
    const dropped = ["--reuid", `${nobody}`, "--regid", `${nobody}`, "--clear-groups"];
    const wish = ["lab", "up", "--name", "x", "--hosts", "2"];
    const env = { HOME: place, CLM_HOME: join(place, "home"), CLM_LAB_DIR: join(place, "labs") };
    const { code, stderr } = await runProgram("setpriv", [...dropped, process.execPath, program, ...wish], env);
    expect([code, stderr]).toEqual([7, expect.stringContaining("next: sudo clm lab up --name x --hosts 2")]);
    expect(await readdir(place)).toEqual([]);
  });

  it("without space", async () => {
    const small = join(folder, "small");
    await mkdir(small);
    await runProgram("mount", ["-t", "tmpfs", "-o", "size=50m", "none", small]);
    try {
      const fresh = join(folder, "fresh");
      const call = { home: fresh, env: { CLM_LAB_DIR: join(small, "labs") } };
      const { code, stderr } = await clm(["lab", "up", "--name", "x"], call);
      expect([code, stderr]).toEqual([7, expect.stringContaining("not enough space for a lab host")]);
      expect([existsSync(fresh), await readdir(small)]).toEqual([false, []]);
    } finally {
      await runProgram("umount", [small]);
    }
  });

  it("in a dry run", async () => {
    const call = { home: join(folder, "dry"), env: { CLM_LAB_DIR: join(folder, "dry-labs") } };
    for (const [verb, says] of [
      ["up", "would bring up x-1"],
      ["down", "would take down lab x"],
    ] as const) {
      const { code, stderr } = await clm(["lab", verb, "--name", "x", "--dry-run"], call);
      expect([code, stderr]).toEqual([0, expect.stringContaining(says)]);
    }
    expect([existsSync(call.home), existsSync(join(folder, "dry-labs"))]).toEqual([false, false]);
  });
});

describe("killed in the middle", () => {
  // Fixed moments, spread over the two seconds of `up` and the half second of `down`.
  let seed = 20;
  const chance = () => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31;
    return seed / 2 ** 31;
  };
  const count = process.env.CLM_TEST_EXHAUSTIVE ? 20 : 6;
  const moments = Array.from({ length: count }, (_, at) => ({
    upFor: Math.round(((at + chance()) / count) * 2000),
    downFor: Math.round(chance() * 600),
  }));
  const killed = (args: string[], afterMs: number) =>
    run(["lab", ...args, "--name", "cut"], (child) => {
      void sleep(afterMs).then(() => child.kill("SIGKILL"));
    });

  it.each(moments)("up after $upFor ms: down leaves nothing", async ({ upFor }) => {
    await killed(["up", "--hosts", "2"], upFor);
    expect((await lab("down", "--name", "cut")).code).toBe(0);
    expect(await traces("cut")).toEqual([]);
  });

  it.each(moments)("up after $upFor ms: up completes; down after $downFor ms: so does down", async (moment) => {
    await killed(["up"], moment.upFor);
    await rows("up", "--name", "cut");
    expect((await run(["host", "exec", "cut-1", "--sudo", "--", "true"])).code).toBe(0);
    await killed(["down"], moment.downFor);
    expect((await lab("down", "--name", "cut")).code).toBe(0);
    expect(await traces("cut")).toEqual([]);
  });
});
