import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parseReport, probeCommand } from "../../../src/agents/hermes/codex/report.js";
import { loadType } from "../../../src/agents/manifest/registry.js";
import { resolvedAgent } from "../../../src/agents/plan/resolved-agent.js";
import { agentNameFrom } from "../../../src/names.js";
import { sampleAgent } from "../state/sample-agent.js";

// How each release logs in and where it keeps a login, and whether clm finds it there.

const run = `import sys
from hermes_cli import logins
words = sys.argv[1:]
sys.exit(logins.removed() if words[0] == "login" else logins.command(words[1:], lambda text: 2))`;

function release(number: string) {
  const home = mkdtempSync(join(tmpdir(), "clm-standin-logins-"));
  const modules = join(home, "modules", "hermes_cli");
  mkdirSync(modules, { recursive: true });
  for (const name of ["logins.py", "settings.py"])
    copyFileSync(`templates/standin/hermes/${name}`, join(modules, name));
  writeFileSync(join(modules, "__init__.py"), `__version__ = "${number}"\n__release_date__ = "x"\n`);
  writeFileSync(join(modules, "release.py"), `VERSION = "x"\nNUMBER = "${number}"\n`);
  writeFileSync(join(home, "modules", "yaml.py"), "");
  writeFileSync(join(home, "modules", "dotenv.py"), "load_dotenv = None\n");
  const env = { ...process.env, HERMES_HOME: home, PYTHONPATH: join(home, "modules"), PYTHONDONTWRITEBYTECODE: "1" };
  const auth = join(home, "auth.json");
  return {
    auth,
    hermes: (...words: string[]) => spawnSync("python3", ["-c", run, ...words], { env, encoding: "utf8" }),
    stored: () => (existsSync(auth) ? JSON.parse(readFileSync(auth, "utf8")) : undefined),
    remove: () => rmSync(home, { recursive: true }),
  };
}

/** What clm's own program finds of the agent's login in that file. No Codex is there to be asked. */
async function found(auth: string) {
  const { manifest } = await loadType("/nonexistent", "hermes");
  if (!manifest.runtimes.codex) throw new Error("the manifest has no Codex runtime");
  const type = { ...manifest.runtimes.codex, logins: auth, program: "no-such-codex" };
  const asked = { thread: false, ephemeral: false, sandbox: false } as const;
  const agent = resolvedAgent(manifest, {
    name: agentNameFrom("ada"),
    ref: "ada",
    host: { name: "wolf-i" } as never,
    record: sampleAgent("ada"),
  });
  const { words, input } = probeCommand(agent, type, asked);
  const { stdout } = spawnSync("python3", words.slice(1), { input, encoding: "utf8" });
  return parseReport(stdout);
}

describe("a login that is kept", () => {
  const made = release("0.18.0");
  afterAll(made.remove);
  const token = (end?: number) =>
    `x.${Buffer.from(JSON.stringify(end === undefined ? {} : { exp: end })).toString("base64url")}.y`;
  const [past, later] = [1_700_000_000, 4_000_000_000];
  const pool = (...some: unknown[]) => ({ credential_pool: { "openai-codex": some } });

  it.each([
    ["is good until it ends", pool({ access_token: token(later) }), { hermes: true }],
    [
      "is renewed when it has what renews it",
      pool({ access_token: token(past), refresh_token: "r" }),
      { hermes: true },
    ],
    ["is over when it has not", pool({ access_token: token(past) }), { hermes: false, hermes_expired: past }],
    ["counts when its end is not said", pool({ access_token: token() }), { hermes: true }],
    [
      "is the good one of several",
      pool({ access_token: token(past) }, { access_token: token(later) }),
      { hermes: true },
    ],
    [
      "may stand in both places",
      { providers: { "openai-codex": {} }, ...pool({ access_token: "t" }) },
      { hermes: true },
    ],
    ["is none without a token", pool({ access_token: "" }, { source: "manual:device_code" }), { hermes: false }],
    ["is none of another provider", { credential_pool: { "xai-oauth": [{ access_token: "t" }] } }, { hermes: false }],
    ["is none in what is no table", { providers: [], credential_pool: { "openai-codex": "t" } }, { hermes: false }],
    ["is none in a list", [], { hermes: false }],
  ])("%s", async (_, stored, expected) => {
    writeFileSync(made.auth, JSON.stringify(stored));
    const sight = await found(made.auth);
    expect({ hermes: sight?.hermes, ...(sight?.hermes_expired && { hermes_expired: sight.hermes_expired }) }).toEqual(
      expected,
    );
  });
});

describe.each(["0.13.0", "0.14.0", "0.15.1", "0.16.0", "0.17.0", "0.18.0"])("logins of %s", (number) => {
  const made = release(number);
  afterAll(made.remove);

  it("are not made by `hermes login`, which ends with 0", async () => {
    const { status, stdout } = made.hermes("login", "--provider", "openai-codex");
    expect([status, stdout]).toEqual([0, expect.stringContaining("has been removed")]);
    expect(made.stored()).toBeUndefined();
    expect(await found(made.auth)).toMatchObject({ hermes: false });
    expect(made.hermes("auth", "status", "openai-codex").stdout).toContain("openai-codex: logged out");
  });

  it("are made by `hermes auth add`, and found where this release keeps them", async () => {
    expect(made.hermes("auth", "add", "openai-codex").status).toBe(0);
    const { providers, credential_pool: pool } = made.stored();
    const place = number === "0.16.0" ? providers["openai-codex"].tokens : pool["openai-codex"][0];
    expect(place.access_token).toMatch(/^standin-/);
    expect(Boolean(providers?.["openai-codex"])).toBe(number === "0.16.0");
    expect(await found(made.auth)).toMatchObject({ hermes: true });
    expect(made.hermes("auth", "status", "openai-codex").stdout).toContain("openai-codex: logged in");
  });

  it("accepts the commands that clm prints", async () => {
    const { manifest } = await loadType("/nonexistent", "hermes");
    const commands = Object.entries(manifest.proxy?.providers ?? {})
      // Of xAI from 0.15 on.
      .filter(([name]) => name === "nous" || !["0.13.0", "0.14.0"].includes(number))
      .map(([, { login }]) => login.split(" ").slice(1));
    expect(commands.length).toBeGreaterThan(0);
    for (const words of [...commands, manifest.runtimes.codex?.agent_login ?? []]) {
      expect(words[0]).toBe("auth");
      expect(made.hermes(...words).status).toBe(0);
    }
  });
});
