import { type ChildProcess, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { hostStore } from "../../src/state/hosts.js";
import { openSecrets } from "../../src/state/secrets.js";
import { clm, inHost, type Result } from "./clm.js";
import { labFixture } from "./fixture.js";

// One running agent, with the lab's echo provider as its model.
const host = "trial-2";
const name = "keyed";
const instance = { host, type: "hermes", agent: name };
const keyName = "HERMES_API_SERVER_KEY";
let scratch: string;

const agent = (verb: string, words: string[] = [], input = "", during?: (child: ChildProcess) => unknown) =>
  clm(["agent", ...verb.split(" "), name, ...words], { home, input, ...(during && { during }) });

const { home } = labFixture({ agents: [{ host, name }] });
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), "clm-keys-"));
});

afterAll(async () => {
  rmSync(scratch, { recursive: true });
});

function must({ code, stderr, stdout }: Result): Result {
  if (code !== 0) throw new Error(`ended with ${code}:\n${stdout}\n${stderr}`);
  return { code, stderr, stdout, signal: null };
}

const stored = (key = keyName) => openSecrets(home).get(instance, key)?.reveal() ?? "";
const record = () => {
  const found = hostStore(home)
    .read()
    .hosts.find((each) => each.name === host)?.agents[name];
  if (!found) throw new Error("there is no record");
  return found;
};
const hostKey = async () => (await inHost(host, `sed -n 's/^API_SERVER_KEY=//p' /home/${name}/.hermes/.env`)).trim();

/** The files of the config directory, backups included, that contain a text. */
const filesWith = (text: string): string[] =>
  spawnSync("grep", ["-rlF", "--", text, home], { encoding: "utf8" }).stdout.split("\n").filter(Boolean);

/** The agent's answer to a request with this key. */
async function answerTo(key: string): Promise<string> {
  const ask = `printf 'Authorization: Bearer %s' '${key}' | curl -s -o /dev/null -w '%{http_code}' -H @- http://127.0.0.1:${record().port}/v1/models`;
  return inHost(host, `${ask} || true`);
}

/** Both sides have the same key, and no earlier key is accepted. */
async function expectSettled(earlier: string[]): Promise<void> {
  const key = stored();
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  expect([stored(`${keyName}_NEXT`), earlier.includes(key)]).toEqual(["", false]);
  expect(await hostKey()).toContain(key);
  expect(await answerTo(key)).toBe("200");
  for (const old of earlier) expect([await answerTo(old), filesWith(old)]).toEqual(["401", []]);
  expect(record().onboarding.state).toBe("ready");
}

describe("the key of an agent that was never configured", () => {
  it("is rotated on this machine only", async () => {
    const before = stored();
    const { stderr } = must(await agent("rotate-key"));
    expect(stderr).toContain(`next: clm agent configure ${name}`);
    expect(stored()).toMatch(/^[0-9a-f]{64}$/);
    expect([stored() === before, stored(`${keyName}_NEXT`)]).toEqual([false, ""]);
  });
});

describe("the key of a running agent", () => {
  beforeAll(async () => {
    must(await agent("configure", ["--provider", "echo", "--no-test"]));
  });

  it("is replaced, and the old one is refused", async () => {
    const before = stored();
    expect(await answerTo(before)).toBe("200");
    const { stderr } = must(await agent("rotate-key"));
    expect(stderr).toContain("accepts its new key and rejects the old one");
    await expectSettled([before]);
  });

  it("is not rotated by a dry run", async () => {
    const before = stored();
    const { stderr } = must(await agent("rotate-key", ["--dry-run"]));
    expect(stderr).toContain(`would rotate the key of ${host}:hermes:${name}`);
    const env = { what: `file /home/${name}/.hermes/.env`, differences: ["~ API_SERVER_KEY"] };
    const told = JSON.parse(must(await agent("rotate-key", ["--dry-run", "-o", "json"])).stdout);
    expect(told).toMatchObject({ agent: `${host}:hermes:${name}`, reached: "agent", resumed: false, proofs: [] });
    expect(told.changes).toContainEqual(env);
    expect(told.changes).toHaveLength(2);
    expect([stored(), await answerTo(before)]).toEqual([before, "200"]);
  });

  /** Kills clm as soon as a condition holds. */
  const killWhen = (isSo: (said: string) => boolean) => (child: ChildProcess) => {
    let said = "";
    child.stderr?.on("data", (chunk) => {
      said += chunk;
    });
    const watch = setInterval(() => isSo(said) && child.kill("SIGKILL"), 2);
    child.on("exit", () => clearInterval(watch));
  };
  const nextIsKept = () => readFileSync(join(home, "secrets.json"), "utf8").includes(`${keyName}_NEXT`);
  const promoted = (before: string) => () => !readFileSync(join(home, "secrets.json"), "utf8").includes(before);
  const stateIs = (state: string) => () =>
    readFileSync(join(home, "hosts.json"), "utf8").includes(`"state": "${state}"`);

  it.each([
    ["the new key is kept", () => nextIsKept],
    ["the record says that the host is being changed", () => stateIs("validate")],
    ["it is being proven", () => (said: string) => said.includes("validate")],
    ["it is proven", () => (said: string) => said.includes("is proven")],
    ["the new key took the place of the old one", (before: string) => promoted(before)],
  ])("is consistent after the same command when clm was killed as soon as %s", async (_, when) => {
    const before = stored();
    const killed = await agent("rotate-key", [], "", killWhen(when(before)));
    expect([killed.signal, killed.code]).toEqual(["SIGKILL", null]);
    must(await agent("rotate-key"));
    await expectSettled([before]);
  });

  it("is consistent after configure, too", async () => {
    const before = stored();
    await agent("rotate-key", [], "", killWhen(nextIsKept));
    const next = stored(`${keyName}_NEXT`);
    expect(next).not.toBe("");
    must(await agent("configure", ["--no-test"]));
    expect(stored()).toBe(next);
    await expectSettled([before]);
  });

  it("is repaired after it was damaged in secrets.json", async () => {
    const before = stored();
    const path = join(home, "secrets.json");
    writeFileSync(path, readFileSync(path, "utf8").replace(before, "not a key"), { mode: 0o600 });
    const refused = await agent("configure", ["--no-test"]);
    expect([refused.code, refused.stderr]).toEqual([21, expect.stringContaining(`next: clm agent rotate-key ${name}`)]);
    must(await agent("rotate-key"));
    await expectSettled([before]);
  });

  it("is written for a stopped agent, which stays stopped", async () => {
    const before = stored();
    must(await agent("stop"));
    const { stderr } = must(await agent("rotate-key"));
    expect(stderr).toContain("it was not started");
    expect(await inHost(host, `systemctl is-active hermes-${name}; systemctl is-enabled hermes-${name}; true`)).toBe(
      "inactive\ndisabled\n",
    );
    expect([await hostKey(), stored(`${keyName}_NEXT`)]).toEqual([expect.stringContaining(stored()), ""]);
    must(await agent("configure", ["--no-test"]));
    await expectSettled([before]);
  });
});

describe("an agent's own secrets", () => {
  const planted = ["pl4nted-Value_one", "pl4nted two with 'quotes' & $dollars"];
  const said: string[] = [];
  const secret = async (verb: string, words: string[], input = "") => {
    const result = await agent(`secret ${verb}`, [...words, "--debug"], input);
    said.push(result.stdout, result.stderr);
    return result;
  };
  const onHost = async (variable: string) =>
    (await inHost(host, `grep -c '^${variable}=' /home/${name}/.hermes/.env || true`)).trim();
  /** The value as the agent reads it. */
  const environment = (variable: string) =>
    inHost(
      host,
      `python3 -c 'from dotenv import dotenv_values; print(dotenv_values("/home/${name}/.hermes/.env").get("${variable}", ""))'`,
    );
  /** The value in the running agent; clm redacts it. */
  const shown = async (variable: string) =>
    must(await clm(["chat", name, "--once", `show the variable ${variable}`], { home })).stdout.trim();

  afterEach(() => {
    for (const value of planted) for (const text of said) expect(text).not.toContain(value);
  });

  it("are stored locally, and the agent must be validated again", async () => {
    must(await secret("set", ["MY_TOKEN", "--stdin"], `${planted[0]}\n`));
    expect(stored("MY_TOKEN")).toBe(planted[0]);
    expect([record().onboarding.state, await onHost("MY_TOKEN")]).toEqual(["validate", "0"]);
    const again = must(await secret("set", ["MY_TOKEN", "--from", "-"], `${planted[0]}\n`));
    expect(again.stderr).toContain("nothing was changed");
  });

  it("reach the host unchanged with --apply", async () => {
    writeFileSync(join(scratch, "value"), planted[1] ?? "", { mode: 0o600 });
    const from = ["MY_TOKEN", "--from", `file:${join(scratch, "value")}`, "--apply"];
    const would = must(await secret("set", [...from, "--dry-run"]));
    expect(would.stderr).toContain(`would change file /home/${name}/.hermes/.env: + MY_TOKEN\n`);
    expect([stored("MY_TOKEN"), await onHost("MY_TOKEN")]).toEqual([planted[0], "0"]);
    const done = must(await secret("set", from));
    expect(done.stderr).toContain("the host is up to date");
    expect(await environment("MY_TOKEN")).toBe(`${planted[1]}\n`);
    expect(await shown("MY_TOKEN")).toBe("[secret]");
    expect(record().onboarding.state).toBe("ready");
  });

  it("are listed without their values", async () => {
    const { stdout } = must(await secret("list", []));
    expect(stdout).toMatch(/^MY_TOKEN +\.env +/m);
    expect(stdout).toMatch(/^HERMES_API_SERVER_KEY +the agent's API +/m);
    expect(stdout).not.toContain(stored());
    const [, ...rows] = JSON.parse((await secret("list", ["-o", "json"])).stdout);
    expect(Object.keys(rows[0] ?? {}).sort()).toEqual(["created_at", "name", "updated_at", "used_by"]);
  });

  it.each([
    ["HERMES_API_SERVER_KEY", /rotate-key/],
    ["API_SERVER_KEY", /rotate-key/],
    ["API_SERVER_HOST", /agent configure/],
    ["HERMES_INFERENCE_PROVIDER", /agent configure/],
    ["DISCORD_BOT_TOKEN", /--stage channels/],
    ["PATH", /agent configure/],
    ["lower", /must start with uppercase letter/],
  ])("are not %s", async (key, why) => {
    const result = await secret("set", [key, "--stdin"], planted[0]);
    expect([result.code, result.stderr]).toEqual([2, expect.stringMatching(why)]);
    const removed = await secret("remove", [key, "--yes"]);
    expect(removed.code).toBe(2);
  });

  it("are imported from a file, all or none", async () => {
    const file = join(scratch, "tools.env");
    writeFileSync(file, `# tools\nONE='${planted[0]}'\nTWO=plain2\nAPI_SERVER_PORT=1\n`, { mode: 0o600 });
    expect(await secret("import", ["--file", file, "--yes"])).toMatchObject({ code: 2 });
    expect(openSecrets(home).names(instance)).not.toContain("ONE");
    writeFileSync(file, `# tools\nONE='${planted[0]}'\nTWO=plain2\nMY_TOKEN=new-one-3\n`);
    const asked = await secret("import", ["--file", file]);
    expect([asked.code, asked.stderr]).toEqual([
      6,
      expect.stringContaining(`Set ONE, TWO, MY_TOKEN (replaced) of ${host}:hermes:${name}?`),
    ]);
    expect(openSecrets(home).names(instance)).not.toContain("ONE");
    must(await secret("import", ["--file", file, "--yes", "--apply"]));
    expect([await environment("ONE"), await environment("TWO"), await environment("MY_TOKEN")]).toEqual([
      `${planted[0]}\n`,
      "plain2\n",
      "new-one-3\n",
    ]);
  });

  it("with a name that Hermes strips do not reach the agent's shell, with a warning; others do", async () => {
    const asked = ["--stdin", "--apply", "-o", "json"];
    const known = must(await secret("set", ["GITHUB_TOKEN", ...asked], "plain-github\n"));
    expect(known.stderr).toContain("strips GITHUB_TOKEN from the environment of the commands that the agent runs");
    expect(known.stderr).toContain(`clm agent secret set ${name} MY_GITHUB_TOKEN`);
    expect(JSON.parse(known.stdout)).toMatchObject({ set: ["GITHUB_TOKEN"], stripped: ["GITHUB_TOKEN"] });
    const other = must(await secret("set", ["MY_GITHUB_TOKEN", ...asked], "plain-github-2\n"));
    expect(other.stderr).not.toContain("strips");
    expect(JSON.parse(other.stdout)).toMatchObject({ stripped: [] });
    expect(await environment("GITHUB_TOKEN")).toBe("plain-github\n");
    expect(await shown("GITHUB_TOKEN")).toBe("GITHUB_TOKEN is not set");
    // clm redacts the value, which shows that it was there.
    expect(await shown("MY_GITHUB_TOKEN")).not.toContain("is not set");
    for (const key of ["GITHUB_TOKEN", "MY_GITHUB_TOKEN"]) must(await secret("remove", [key, "--yes", "--apply"]));
  });

  it("are removed locally and on the host", async () => {
    expect(await secret("remove", ["ONE"])).toMatchObject({ code: 6 });
    const would = must(await secret("remove", ["ONE", "--apply", "--dry-run", "-o", "json"]));
    expect(JSON.parse(would.stdout)).toMatchObject({ name, set: [], forgotten: ["ONE"], applied: false });
    expect(JSON.parse(would.stdout).changes[0]).toMatchObject({ differences: ["- ONE"] });
    const { stderr } = must(await secret("remove", ["ONE", "--yes", "--apply"]));
    expect(stderr).toContain(`ONE of ${host}:hermes:${name} is removed`);
    expect([stored("ONE"), await onHost("ONE"), await onHost("TWO")]).toEqual(["", "0", "1"]);
    const again = await secret("remove", ["ONE", "--yes"]);
    expect([again.code, again.stderr]).toEqual([4, expect.stringContaining("has no secret ONE")]);
  });

  it("are in no file but secrets.json and the agent's own", () => {
    for (const value of [stored(), ...planted]) {
      expect(filesWith(value).filter((path) => !/\/secrets\.json(\.\d+)?$/.test(path))).toEqual([]);
    }
    expect(statSync(join(home, "secrets.json")).mode & 0o777).toBe(0o600);
  });
});
