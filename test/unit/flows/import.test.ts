import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { hostNameFrom } from "../../../src/names.js";
import { hostStore } from "../../../src/state/hosts.js";
import { providerStore } from "../../../src/state/providers.js";
import { openSecrets } from "../../../src/state/secrets.js";
import { clm as run } from "../cli/world.js";
import { scratchDirectories } from "../state/scratch.js";
import { mapped } from "./import/mapped.js";
import { eras, filesIn, oldDirectories } from "./import/old-directory.js";

const old = oldDirectories();
const scratch = scratchDirectories();
const clm = (home: string, ...args: string[]) => run([...args, "--config-dir", home]);
const importFrom = (home: string, from: string, ...more: string[]) =>
  clm(home, "import", "clawrium", "--from", from, "--no-check", "--yes", ...more);

/** What clm knows, with everything that belongs to an agent or a provider of its fleet. */
function knownIn(home: string) {
  const { hosts } = hostStore(home).read();
  const { providers } = providerStore(home).read();
  const all = JSON.parse(readFileSync(join(home, "secrets.json"), "utf8"));
  return { hosts, providers, keys: Object.keys(all).sort(), secrets: openSecrets(home) };
}

describe.each(eras)("import of the %s", (era) => {
  const wanted = () => JSON.parse(JSON.stringify(mapped(era)).replaceAll("/config/", "@/"));

  function mustBeWhole(home: string): void {
    const { hosts, providers, secrets } = knownIn(home);
    const expected = wanted();
    const at = (text: string) => text.replaceAll("2026-06-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z");
    expect(JSON.stringify(hosts).replaceAll(`${home}/`, "@/")).toBe(at(JSON.stringify(expected.hosts)));
    expect(providers).toEqual(expected.providers);
    for (const [key, value] of Object.entries(expected.secrets)) {
      const [instance = "", name = ""] = key.split(" ");
      const [host = "", type = "", agent = ""] = instance.split(":");
      const whose = host === "provider" ? { provider: type } : { host, type, agent };
      expect([key, secrets.get(whose, name)?.reveal()]).toEqual([key, value]);
    }
    for (const [id, text] of Object.entries(expected.keys)) {
      const path = join(home, "keys", id, "xclm_ed25519");
      expect([readFileSync(path, "utf8"), statSync(path).mode & 0o777]).toEqual([text, 0o600]);
    }
  }

  it("imports everything into another directory, and leaves the old one unchanged", async () => {
    const [home, from] = [scratch(), old(era)];
    const before = filesIn(from);
    const { code, stdout, stderr } = await importFrom(home, from);
    expect([code, stderr]).toEqual([0, ""]);
    for (const { from: each, remark } of wanted().rows) {
      expect(stdout).toContain(each);
      if (remark) expect(stdout.replace(/\s+/g, " ")).toContain(remark.slice(0, 40));
    }
    mustBeWhole(home);
    expect(filesIn(from)).toEqual(before);
    const list = await clm(home, "agent", "list");
    for (const { agents } of wanted().hosts)
      for (const name of Object.keys(agents)) expect(list.stdout).toContain(name);
    expect(list.code).toBe(0);
  });

  it("imports in place, with a backup", async () => {
    const home = old(era);
    const before = filesIn(home);
    const { code, stderr } = await clm(home, "import", "clawrium", "--no-check", "--yes");
    expect([code, stderr]).toEqual([0, expect.stringContaining("A backup of the previous files")]);
    mustBeWhole(home);
    const [copy = ""] = readdirSync(join(home, "backups")).filter((name) => name.startsWith("clawrium-"));
    const backup = join(home, "backups", copy);
    expect(filesIn(backup)).toEqual(before);
    for (const name of Object.keys(before)) expect(statSync(join(backup, name)).mode & 0o777).toBe(0o600);
    // Renamed secrets have no old key left; what was not imported stays.
    const { keys } = knownIn(home);
    for (const gone of wanted().gone) expect(keys).not.toContain(gone);
    const left = Object.keys(JSON.parse(before["secrets.json"] ?? "")).filter((key) => !wanted().gone.includes(key));
    expect(keys).toEqual(expect.arrayContaining(left));
  });

  it("does nothing the second time", async () => {
    for (const [home, from] of [[scratch(), old(era)] as const, ...[old(era)].map((one) => [one, one] as const)]) {
      await importFrom(home, from);
      const before = filesIn(home);
      const { code, stderr } = await importFrom(home, from);
      expect([code, stderr]).toEqual([0, expect.stringContaining("Everything of Clawrium's has been imported")]);
      expect(filesIn(home)).toEqual(before);
    }
  });

  it("changes nothing in a dry run, nor without confirmation", async () => {
    const home = old(era);
    const before = filesIn(home, /^$/);
    const dry = await clm(home, "import", "clawrium", "--no-check", "--dry-run", "-o", "json");
    expect([dry.code, JSON.parse(dry.stdout).plan, dry.stderr]).toEqual([
      0,
      wanted().rows,
      expect.stringContaining("would import"),
    ]);
    expect((await clm(home, "import", "clawrium", "--no-check")).code).toBe(6);
    expect(filesIn(home, /^$/)).toEqual(before);
  });

  it("shows no secret", async () => {
    const [home, from] = [scratch(), old(era)];
    const { stdout, stderr } = await importFrom(home, from, "-o", "json");
    const said = stdout + stderr + readFileSync(join(home, "audit.jsonl"), "utf8");
    for (const value of Object.values(wanted().secrets)) expect(said).not.toContain(value);
  });
});

interface Broken {
  name: string;
  file: string;
  text: string;
  says: string;
  fault?: string;
}
const spoilt: Broken[] = parse(readFileSync(resolve("test/cases/import/broken.yaml"), "utf8"));

describe("a broken directory", () => {
  it.each(spoilt.map((each) => [each.name, each] as const))("%s", async (_, { file, text, says, fault }) => {
    for (const inPlace of [true, false]) {
      const from = old("clm-era");
      writeFileSync(join(from, file), text, { mode: 0o600 });
      const home = inPlace ? from : scratch();
      const before = filesIn(home, /^$/);
      const { code, stdout, stderr } = await importFrom(home, from);
      expect([code, stdout]).toEqual([fault === "not-found" ? 4 : 21, ""]);
      expect(stderr.replace(/\s+/g, " ")).toContain(says);
      if (!fault) expect(stderr).toContain(file);
      expect(stderr).not.toContain("planted");
      expect(filesIn(home, /^$/)).toEqual(before);
    }
  });

  it("that others can read is refused with the command that fixes it", async () => {
    const from = old("clm-era");
    chmodSync(join(from, "secrets.json"), 0o644);
    const { code, stderr } = await importFrom(scratch(), from);
    expect([code, stderr]).toEqual([23, expect.stringContaining("chmod 600")]);
  });

  it("that is missing, or clm's own already, is reported", async () => {
    const home = scratch();
    expect(await importFrom(home, join(home, "none"))).toMatchObject({ code: 4 });
    const ours = scratch();
    await importFrom(ours, old("head-era"));
    const { code, stderr } = await importFrom(home, ours);
    expect([code, stderr]).toEqual([2, expect.stringContaining("is a config directory of clm")]);
  });

  it("skips an invalid secret, as Clawrium does", async () => {
    const home = old("clm-era");
    const path = join(home, "secrets.json");
    const all = JSON.parse(readFileSync(path, "utf8"));
    all["10.0.0.5:hermes:h1"].BROKEN = { key: "BROKEN" };
    all.nonsense = 5;
    writeFileSync(path, JSON.stringify(all), { mode: 0o600 });
    expect(await importFrom(home, home)).toMatchObject({ code: 0 });
    expect(knownIn(home).secrets.names({ host: "wolf-i", type: "hermes", agent: "h1" })).toContain("MY_TOKEN");
  });
});

describe("existing records", () => {
  it("is kept, and a host of the same name at another address is refused before anything", async () => {
    const home = scratch();
    const name = hostNameFrom("wolf-i");
    const other = { name, address: "10.9.9.9", labels: {}, added_at: "", sudo: "root", agents: {} } as const;
    await hostStore(home).update((fleet) => ({ ...fleet, hosts: [other] }));
    const before = filesIn(home);
    const { code, stderr } = await importFrom(home, old("clm-era"));
    expect([code, stderr]).toEqual([5, expect.stringContaining("clm import clawrium --host wolf-i=NAME")]);
    expect(filesIn(home)).toEqual(before);
    const named = await importFrom(home, old("clm-era"), "--host", "box1=wolf-1", "--host", "10.0.0.6=box");
    expect(named.code).toBe(0);
    const { hosts, keys } = knownIn(home);
    expect(hosts.map(({ name }) => name)).toEqual(["wolf-i", "wolf-1", "box"]);
    expect(keys).toContain("wolf-1:hermes:h1");
  });

  it("includes a provider of the same name: another one is refused, the same one is left", async () => {
    const home = scratch();
    const from = old("clm-era");
    const same = JSON.parse(JSON.stringify(mapped("clm-era").providers.or1));
    await providerStore(home).update(() => ({ providers: { or1: { ...same, model: "another" } } }));
    expect(await importFrom(home, from)).toMatchObject({ code: 5 });
    expect(existsSync(join(home, "hosts.json"))).toBe(false);
    await providerStore(home).update(() => ({ providers: { or1: same } }));
    // Without its key it counts as another agent.
    expect(await importFrom(home, from)).toMatchObject({ code: 5 });
    cpSync(join(from, "secrets.json"), join(home, "secrets.json"));
    chmodSync(join(home, "secrets.json"), 0o600);
    expect(await importFrom(home, from)).toMatchObject({ code: 0 });
  });

  it("grows when Clawrium's fleet did: agents that are there stay as they are", async () => {
    const [home, from] = [scratch(), old("clm-era")];
    const path = join(from, "hosts.json");
    const all = JSON.parse(readFileSync(path, "utf8"));
    const { h1, ...others } = all[0].agents;
    writeFileSync(path, JSON.stringify([{ ...all[0], agents: others }]));
    await importFrom(home, from);
    await hostStore(home).update((fleet) => ({
      hosts: fleet.hosts.map((host) => ({
        ...host,
        agents: Object.fromEntries(
          Object.entries(host.agents).map(([name, agent]) => [name, { ...agent, port: 8650 }]),
        ),
      })),
    }));
    writeFileSync(path, JSON.stringify([{ ...all[0], agents: { ...others, h1 } }]));
    const { code, stdout } = await importFrom(home, from);
    expect([code, stdout]).toEqual([0, expect.stringContaining("exists already; left as it is")]);
    const [host] = knownIn(home).hosts;
    expect([host?.agents.h_2?.port, host?.agents.h1?.port]).toEqual([8650, 8642]);
  });
});

describe("a command that finds Clawrium's files in the config directory", () => {
  it("names their owner and the import command, which then works", async () => {
    const home = old("head-era");
    for (const words of [
      ["host", "list"],
      ["provider", "list"],
      ["agent", "list"],
    ]) {
      const { code, stderr } = await clm(home, ...words);
      expect([code, stderr]).toEqual([21, expect.stringContaining("is a file of Clawrium's")]);
      expect(stderr).toContain(`clm import clawrium --config-dir ${home}`);
    }
    expect((await run(["import", "clawrium", "--config-dir", home, "--no-check", "--yes"])).code).toBe(0);
    expect((await clm(home, "host", "list", "-o", "name")).stdout).toBe("espresso\nespresso-2\n");
  });

  it("reads Clawrium's own directory by default", async () => {
    const from = old("head-era");
    const world = { env: { HOME: "/nowhere", XDG_CONFIG_HOME: dirname(from), CLM_HOME: scratch() } };
    const { code, stdout } = await run(["import", "clawrium", "--no-check", "--yes", "-o", "json"], world);
    expect([code, JSON.parse(stdout).from]).toEqual([0, from]);
  });
});
