import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { Usage } from "../../../../src/gateway/allowance/usage.js";
import { Keyring } from "../../../../src/gateway/keys/keyring.js";
import { pepperPlace, signingName } from "../../../../src/gateway/keys/mint.js";
import { hostNameFrom } from "../../../../src/names.js";
import { Secret } from "../../../../src/secret.js";
import { gatewayKeyStore } from "../../../../src/state/gateway-keys.js";
import { type Host, hostStore } from "../../../../src/state/hosts.js";
import { openSecrets } from "../../../../src/state/secrets.js";
import { sampleAgent } from "../../state/sample-agent.js";
import { scratchDirectories } from "../../state/scratch.js";
import { clm } from "../world.js";

const form = /^clm_[a-z0-9]{8}_[\w-]{43}\n$/;
const freshDirectory = scratchDirectories();
let dir: string;
let now: Date;

beforeEach(async () => {
  dir = freshDirectory();
  now = new Date("2026-11-16T12:00:00Z");
  const lab: Host = {
    name: hostNameFrom("lab-1"),
    address: "127.0.0.1",
    port: 9,
    labels: {},
    added_at: "2026-01-01T00:00:00.000Z",
    sudo: "passwordless" as const,
    agents: { ada: sampleAgent("ada") },
  };
  await hostStore(dir).update((fleet) => ({ ...fleet, hosts: [lab] }));
});

const run = (...words: string[]) => clm(["--config-dir", dir, "gateway", ...words], { now: () => now });
/** Creates the key codex for ada, unless the words name another or other agents. */
const create = (...words: string[]) => {
  const usual = Object.entries({ "--name": "codex", "--agents": "ada" }).filter(([option]) => !words.includes(option));
  return run("key", "create", ...usual.flat(), ...words);
};
const records = () => Object.values(gatewayKeyStore(dir).read().keys);
const ring = () => new Keyring(dir, openSecrets(dir), () => now);
const opens = (key: string) => {
  try {
    return ring().whose(key.trim()).name;
  } catch (error) {
    return (error as { code: string }).code;
  }
};
const json = async (...words: string[]) => JSON.parse((await run(...words, "-o", "json")).stdout);

/** Every file of the config directory, backups and audit log too. */
const everything = () =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
    .join("\n");

describe("create", () => {
  it("prints the key alone on stdout, and it opens", async () => {
    const { code, stdout, stderr } = await create();
    expect([code, stderr]).toEqual([0, expect.stringContaining("printed only this once")]);
    expect(stdout).toMatch(form);
    expect(opens(stdout)).toBe("codex");
  });

  it("stores the key in no file, and the action in the audit log", async () => {
    const { stdout } = await create("--signed");
    const text = everything();
    expect(text).not.toContain(stdout.trim());
    expect(text).not.toContain(stdout.trim().split("_").slice(2).join("_"));
    expect(readFileSync(join(dir, "audit.jsonl"), "utf8")).toContain('"verb":"gateway key create","target":"codex"');
    expect(statSync(join(dir, "gateway-keys.json")).mode & 0o777).toBe(0o600);
  });

  it("accepts all options", async () => {
    const options = ["--role", "admin", "--rpm", "60", "--tokens-per-day", "1000", "--budget-usd", "5.50/day"];
    const made = await json("key", "create", "--name", "ci", "--agents", "a*, lab-1/*", "--expires", "30d", ...options);
    expect(made).toMatchObject({
      name: "ci",
      role: "admin",
      agents: ["a*", "lab-1/*"],
      expires_at: "2026-12-16T12:00:00.000Z",
      rpm: 60,
      tokens_per_day: 1000,
      budget: { usd: 5.5, per: "day" },
      signed: false,
    });
    expect(Object.keys(made)).not.toContain("hash");
    expect(opens(made.key)).toBe("ci");
  });

  it.each([
    [["--name", "Bad Name"], 2, "cannot be a gateway key's name"],
    [["--name", `clm_abcd1234_${"s".repeat(43)}`], 2, "that cannot be a gateway key's name"],
    [["--agents", ","], 2, "--agents is empty"],
    [["--agents", "ada,$(x)"], 2, "pattern 2 of --agents is invalid"],
    [["--agents", "a/b/c"], 2, "pattern 1"],
    [["--expires", "2020-01-01"], 2, "is past"],
    [["--expires", "soon"], 2, "12h, 30d (from now)"],
    [["--expires", "0d"], 2, "is past"],
    [["--rpm", "0"], 2, "--rpm"],
    [["--tokens-per-day", "x"], 2, "--tokens-per-day"],
    [["--budget-usd", "0"], 2, "is not a budget"],
    [["--budget-usd", "-5"], 2, ""],
    [["--budget-usd", "5/week"], 2, "5/day or 50/month"],
    [["--role", "root"], 2, "--role"],
  ])("refuses %j before anything is made", async (words, code, told) => {
    const refused = await create(...words);
    expect([refused.code, refused.stdout]).toEqual([code, ""]);
    expect(refused.stderr).toContain(told);
    expect(refused.stderr).not.toContain("s".repeat(43));
    expect([records(), openSecrets(dir).all()]).toEqual([[], []]);
  });

  it.each([["--name"], ["--agents"]])("reports that %s is missing", async (option) => {
    const words = ["--name", "x", "--agents", "*"];
    words.splice(words.indexOf(option), 2);
    const refused = await run("key", "create", ...words);
    expect([refused.code, refused.stderr.includes(option)]).toEqual([2, true]);
  });

  it("a name is one key's, until that is revoked", async () => {
    await create();
    const second = await create();
    expect([second.code, second.stdout]).toEqual([5, ""]);
    expect(second.stderr).toContain("clm gateway key rotate codex");
    await run("key", "revoke", "codex", "--yes");
    expect((await create()).code).toBe(0);
    expect(records().map(({ revoked_at }) => revoked_at !== undefined)).toEqual([true, false]);
  });

  it("warns about a pattern without matches", async () => {
    const { code, stderr } = await create("--agents", "ada,bob*");
    expect([code, stderr.includes("no agent matches 'bob*' yet"), stderr.includes("'ada'")]).toEqual([0, true, false]);
  });

  it("in a dry run makes nothing", async () => {
    const { code, stdout, stderr } = await create("--dry-run");
    expect([code, stdout, stderr]).toEqual([0, "", "would create gateway key codex (chat)\n"]);
    expect(records()).toEqual([]);
  });

  it("many at once share one pepper", async () => {
    const made = await Promise.all(
      [1, 2, 3, 4].map((n) => run("key", "create", "--name", `k${n}`, "--agents", "*", "-q")),
    );
    expect(made.map(({ stdout }) => opens(stdout))).toEqual(["k1", "k2", "k3", "k4"]);
  });

  it("lists the keys that are lost with the pepper", async () => {
    await create();
    await openSecrets(dir).unset(pepperPlace.instance, pepperPlace.name);
    const { stdout, stderr } = await run("key", "create", "--name", "next", "--agents", "*");
    expect([opens(stdout), stderr.includes("are invalid until rotated: codex")]).toEqual(["next", true]);
  });
});

describe("revoke", () => {
  it("asks, and opens nothing from then on", async () => {
    const { stdout } = await create("--signed");
    const [{ id = "", hash = "" } = {}] = records();
    expect((await run("key", "revoke", "codex")).code).toBe(6);
    expect(opens(stdout)).toBe("signature_required");
    const done = await run("key", "revoke", "codex", "--yes");
    expect([done.code, done.stdout]).toEqual([0, `codex (${id}) is revoked\n`]);
    expect(opens(stdout)).toBe("revoked_api_key");
    // Only callers that can sign with it learn that it was revoked.
    expect(openSecrets(dir).names({ gateway: id })).toEqual([signingName(hash)]);
    expect(ring().signed(id)?.ended?.code).toBe("revoked_api_key");
    // No backup lets it in again.
    expect(readdirSync(join(dir, "backups")).filter((name) => name.startsWith("gateway-keys"))).toHaveLength(1);
  });

  it("by id, and twice is once", async () => {
    await create();
    const [{ id = "" } = {}] = records();
    await run("key", "revoke", id, "--yes");
    now = new Date("2026-11-17T12:00:00Z");
    const again = await json("key", "revoke", id);
    expect(again).toMatchObject({ already: true, revoked_at: "2026-11-16T12:00:00.000Z" });
  });

  it("of an unknown name suggests a similar one, and does not repeat a key", async () => {
    const { stdout } = await create();
    const typo = await run("key", "revoke", "codx", "--yes");
    expect([typo.code, typo.stderr.includes("did you mean 'codex'?")]).toEqual([4, true]);
    const pasted = await run("key", "revoke", stdout.trim(), "--yes");
    expect([pasted.code, pasted.stderr.includes(stdout.trim())]).toEqual([4, false]);
  });
});

describe("rotate", () => {
  it("ends the old secret at once, and keeps the key's id and name", async () => {
    const first = await create("--rpm", "7");
    const [before] = records();
    const second = await run("key", "rotate", "codex");
    expect(second.stdout).toMatch(form);
    expect([opens(first.stdout), opens(second.stdout)]).toEqual(["invalid_api_key", "codex"]);
    const [after] = records();
    expect({ ...after, hash: "", rotated_at: undefined }).toEqual({ ...before, hash: "", rotated_at: undefined });
  });

  it("with a grace both open until it is over", async () => {
    const first = await create();
    const second = await run("key", "rotate", "codex", "--grace", "1h");
    expect(second.stderr).toContain("valid until 2026-11-16T13:00:00.000Z");
    expect([opens(first.stdout), opens(second.stdout)]).toEqual(["codex", "codex"]);
    now = new Date("2026-11-16T13:00:00Z");
    expect([opens(first.stdout), opens(second.stdout)]).toEqual(["invalid_api_key", "codex"]);
  });

  it("of a signed key keeps only the signing secret", async () => {
    await create("--signed");
    const [{ id = "", hash = "" } = {}] = records();
    const first = ring().signed(id)?.secret.reveal();
    await run("key", "rotate", "codex", "--grace", "1h");
    const both = ring().signed(id);
    expect([both?.former?.reveal(), both?.secret.reveal() === first]).toEqual([first, false]);
    await run("key", "rotate", "codex");
    expect(openSecrets(dir).names({ gateway: id })).toEqual([signingName(records()[0]?.hash ?? "")]);
    expect(openSecrets(dir).names({ gateway: id })).not.toContain(signingName(hash));
  });

  it.each(["0h", "tomorrow", "2027-01-01", "h"])("refuses a grace of %s", async (grace) => {
    const { stdout } = await create();
    const refused = await run("key", "rotate", "codex", "--grace", grace);
    expect([refused.code, refused.stdout, opens(stdout)]).toEqual([2, "", "codex"]);
  });

  it("does not renew an expired key", async () => {
    await create("--expires", "1h");
    now = new Date("2026-11-16T13:00:00Z");
    expect((await run("key", "rotate", "codex")).stderr).toContain("next: clm gateway key revoke codex");
    await run("key", "revoke", "codex", "--yes");
    expect((await run("key", "rotate", "codex")).code).toBe(8);
  });
});

it("leftovers of a killed command are removed by the next, and were never valid", async () => {
  // A signing secret without its record, as after a kill between the two files.
  await openSecrets(dir).set({ gateway: "orphan00" }, signingName("ab".repeat(32)), new Secret("5e".repeat(32)), "");
  expect(ring().signed("orphan00")).toBeUndefined();
  await create();
  expect(openSecrets(dir).instances()).toEqual([{ gateway: "keys" }]);
});

describe("list", () => {
  const columns = (text: string) =>
    text
      .trim()
      .split("\n")
      .map((row) => row.split(/ {3,}/));

  it("shows every key with its state and limits, and nothing that opens", async () => {
    await create("--rpm", "60", "--budget-usd", "5/day", "--expires", "30d");
    await run("key", "create", "--name", "old", "--agents", "*", "--expires", "1h");
    await run("key", "create", "--name", "gone", "--agents", "*", "--signed");
    await run("key", "revoke", "gone", "--yes");
    now = new Date("2026-11-16T14:00:00Z");
    const { stdout } = await run("key", "list");
    const rows = columns(stdout).map(([name, , role, agents, state, sessions, expires, limits]) => [
      ...[name, role, agents, state, sessions, expires, limits],
    ]);
    expect(rows).toEqual([
      ["NAME", "ROLE", "AGENTS", "STATE", "SESSIONS", "EXPIRES IN", "LIMITS"],
      ["codex", "chat", "ada", "active", "own", "29d", "60/min, $5/day"],
      ["old", "chat", "*", "expired", "own", "-", "-"],
      ["gone", "chat, signed", "*", "revoked", "own", "-", "-"],
    ]);
    const seen = JSON.stringify(await json("key", "list"));
    for (const { hash } of records()) expect(seen).not.toContain(hash);
    expect((await run("key", "list", "-o", "name")).stdout).toBe("codex\nold\ngone\n");
  });

  it("shows the session group of a key, as in the audit log", async () => {
    await run("key", "create", "--name", "web-1", "--agents", "*", "--share-sessions", "web");
    await run("key", "create", "--name", "ops", "--agents", "*", "--all-sessions");
    const listed = await json("key", "list");
    expect(listed.map(({ name, sessions }: { name: string; sessions: string }) => [name, sessions])).toEqual([
      ["ops", "all"],
      ["web-1", "group:web"],
    ]);
    const log = readFileSync(join(dir, "audit.jsonl"), "utf8");
    expect(log).toContain('"--share-sessions","web"');
    expect(log).toContain('"--all-sessions"');
  });

  it.each([
    ["both", ["--share-sessions", "web", "--all-sessions"], "exclude each other"],
    ["no name of a group", ["--share-sessions", "a b"], "needs a group name"],
  ])("refuses %s", async (_what, words, why) => {
    const { code, stderr } = await run("key", "create", "--name", "x", "--agents", "*", ...words);
    expect([code, stderr]).toEqual([2, expect.stringContaining(why)]);
    expect(records()).toEqual([]);
  });

  it("without keys names the command to create one", async () => {
    expect((await run("key", "list")).stderr).toContain("clm gateway key create --name NAME --agents PATTERNS");
  });
});

describe("usage", () => {
  beforeEach(async () => {
    await create("--budget-usd", "20");
    const [{ id = "" } = {}] = records();
    const folder = join(dir, "gateway");
    mkdirSync(folder);
    const usage = await Usage.open(folder, { lines: async function* () {} });
    const line = { key: { id }, target: "lab-1/ada", status: 200, tokens: { input: 100, output: 50 }, usd: 0.004 };
    usage.take({ seq: 1, at: "2026-11-01T12:00:00Z", ...line });
    usage.take({ seq: 2, at: "2026-11-16T12:00:00Z", ...line, usd: 1.5 });
    usage.take({ seq: 3, at: "2026-11-16T12:00:00Z", ...line, target: "lab-1/ada/proxy", status: 502, usd: 0 });
    usage.take({ seq: 4, at: "2026-11-16T12:00:01Z", status: 401 });
    await usage.close();
  });

  const table = async (...words: string[]) =>
    (await run("usage", ...words)).stdout
      .trim()
      .split("\n")
      .map((row) => row.split(/ {2,}/));

  it("by key, with a total", async () => {
    expect(await table()).toEqual([
      ["KEY", "REQUESTS", "ERRORS", "INPUT", "OUTPUT", "COST"],
      ["-", "1", "1", "0", "0", "$0.00"],
      ["codex", "3", "1", "300", "150", "$1.50"],
      ["total", "4", "2", "300", "150", "$1.50"],
    ]);
  });

  it("by day since one, and of a key by agent", async () => {
    expect((await table("--by", "day")).map(([day, requests]) => [day, requests])).toEqual([
      ...[
        ["DAY", "REQUESTS"],
        ["2026-11-01", "1"],
        ["2026-11-16", "3"],
        ["total", "4"],
      ],
    ]);
    expect((await table("--by", "day", "--since", "7d")).map(([day]) => day)).toEqual(["DAY", "2026-11-16", "total"]);
    expect((await table("--by", "agent", "--key", "codex")).map(([agent, requests]) => [agent, requests])).toEqual([
      ...[
        ["AGENT", "REQUESTS"],
        ["lab-1/ada", "2"],
        ["lab-1/ada/proxy", "1"],
        ["total", "3"],
      ],
    ]);
  });

  it("for programs has the sums as numbers", async () => {
    const { rows, total } = await json("usage", "--agent", "a*");
    expect(total).toEqual({ requests: 3, errors: 1, input: 300, output: 150, usd: 1.504 });
    expect(rows).toMatchObject([{ key: "codex", id: records()[0]?.id, requests: 3 }]);
  });

  it("of an unknown key is an error", async () => {
    expect([(await run("usage", "--key", "codx")).code, (await run("usage", "--agent", "adda")).code]).toEqual([4, 4]);
    expect((await run("usage", "--since", "2026-12-01")).stderr).toContain("No requests in that time");
  });

  it("is in the list of keys", async () => {
    const [key] = await json("key", "list");
    expect([key.today, key.spent]).toEqual([
      ...[
        { tokens: 300, usd: 1.5 },
        { tokens: 450, usd: 1.504 },
      ],
    ]);
  });
});
