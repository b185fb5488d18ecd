import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { answerShell } from "../../../src/cli/complete.js";
import { digestOf } from "../../../src/flows/registry/bytes.js";
import { type Unsound, unsoundServer, type Way } from "../flows/registry/unsound-server.js";
import { clm } from "./world.js";

const bytes = Buffer.from(`#!/bin/sh\n${"echo installing\n".repeat(40)}`);
const { size, sha256 } = digestOf(bytes);
let server: Unsound;
let dir: string;

beforeAll(async () => {
  server = await unsoundServer(bytes);
});
afterAll(() => server.close());
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "clm-registry-"));
  server.asked.length = 0;
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const registry = (...words: string[]) => clm(["registry", ...words, "--config-dir", dir]);
const mine = () => join(dir, "manifests", "hermes.yaml");
/** The installers that are kept. */
const kept = () =>
  existsSync(join(dir, "cache")) ? readdirSync(join(dir, "cache")).filter((name) => name !== "manifests") : [];
const audited = () => (existsSync(join(dir, "audit.jsonl")) ? readFileSync(join(dir, "audit.jsonl"), "utf8") : "");

function overlay(name: string, text: string): void {
  mkdirSync(join(dir, "manifests"), { recursive: true });
  writeFileSync(join(dir, "manifests", name), `type: hermes\n${text}`);
}

/** The user's own versions, whose installers this server has in different forms. */
function pinnedTo(ways: Record<string, Way>): void {
  const entries = Object.entries(ways).map(
    ([version, way]) => `  ${version}:
    reports: 0.99.0
    installer: { url: "${server.url(way)}", size: ${size}, sha256: ${sha256} }
`,
  );
  overlay("test.yaml", `versions:\n${entries.join("")}`);
}

describe("clm registry list", () => {
  it("shows the built-in versions and the default", async () => {
    const { code, stdout } = await registry("list");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^TYPE +VERSION +REPORTS +STAND-IN +DEFAULT +PINNED BY +CACHED\n/);
    expect(stdout).toMatch(/^hermes +2026\.5\.7 +0\.13\.0 +no +no +built in +no$/m);
    expect(stdout).toMatch(/^hermes +2026\.7\.1 +0\.18\.0 +no +yes +built in +no$/m);
    expect(kept()).toEqual([]);
  });

  it("shows the versions that a lab adds, and their hosts", async () => {
    overlay(
      "lab.yaml",
      `default_by_label: { lab: 2026.7.1+standin }
versions:
  2026.7.1+standin:
    reports: 0.18.0
    standin: true
    installer: { url: "file:///nowhere", size: ${size}, sha256: ${sha256} }
`,
    );
    mkdirSync(join(dir, "cache"));
    writeFileSync(join(dir, "cache", sha256), bytes);
    const rows = JSON.parse((await registry("list", "-o", "json")).stdout);
    expect(rows.find(({ version }: { version: string }) => version.endsWith("standin"))).toEqual({
      type: "hermes",
      version: "2026.7.1+standin",
      reports: "0.18.0",
      standin: true,
      default: "on lab hosts",
      pinned_by: join(dir, "manifests", "lab.yaml"),
      cached: "yes",
    });
    expect((await registry("list", "-o", "name")).stdout).toContain("hermes 2026.7.1+standin\n");
  });

  it("completes types and versions", async () => {
    const answer = (...words: string[]) => answerShell(["registry", "show", ...words], { CLM_HOME: dir });
    expect(await answer("h")).toBe("hermes\tHermes Agent\n");
    expect(await answer("hermes", "2026.5.7")).toBe("2026.5.7\t0.13.0\n");
  });
});

describe("clm registry show", () => {
  it("shows the requirements and capabilities of a version", async () => {
    const { stdout } = await registry("show", "hermes", "2026.5.7");
    expect(stdout).toContain("Version:    2026.5.7\n");
    expect(stdout).toMatch(/^Installer: {2}https:\/\/.*v2026\.5\.7.*install\.sh$/m);
    expect(stdout).toMatch(/^SHA-256: {4}b34368cb/m);
    expect(stdout).toMatch(/^Systems: {4}debian 12, /m);
    expect(stdout).toMatch(/^Providers: .*openrouter/m);
    expect(stdout).toMatch(/^Channels: .*discord/m);
  });

  it("shows the settings of a program, which has no installer", async () => {
    const { stdout } = await registry("show", "program");
    expect(stdout).toMatch(/^Installer: {2}none: you bring the program$/m);
    expect(stdout).toMatch(/^Settings: {3}command, files, environment, health, health_path$/m);
    expect((await registry("show", "hermes")).stdout).toMatch(/^Settings: {3}-$/m);
  });

  it("lists the capabilities of the type", async () => {
    const { capabilities } = JSON.parse((await registry("show", "hermes", "-o", "json")).stdout);
    expect(capabilities).toEqual(expect.arrayContaining(["memory", "sessions", "handoff"]));
  });

  it("shows the default when none is named", async () => {
    expect(JSON.parse((await registry("show", "hermes", "-o", "json")).stdout)).toMatchObject({
      version: "2026.7.1",
      default: "yes",
    });
  });

  it.each([
    [["hermse"], "did you mean 'hermes'?"],
    [["hermes", "2026.7.2"], "hermes 2026.7.2 is not pinned"],
  ])("%j is not there", async (words, told) => {
    expect(await registry("show", ...words)).toMatchObject({ code: 4, stderr: expect.stringContaining(told) });
  });
});

describe("clm registry verify", () => {
  it("fetches once, and hashes again the next time", async () => {
    pinnedTo({ "2027.1.1": "right" });
    const verify = () => registry("verify", "hermes", "2027.1.1", "-o", "json");
    const good = [{ type: "hermes", version: "2027.1.1", result: "ok", reason: `${size} bytes, sha256 ${sha256}` }];
    for (const _ of [1, 2]) expect(JSON.parse((await verify()).stdout)).toEqual(good);
    expect(server.asked).toEqual(["right"]);
  });

  it.each<[Way, number, RegExp]>([
    ["a flipped bit", 30, /2027\.1\.1: http.* did not return the pinned installer; pinned: /],
    ["302 to the right bytes", 30, /2027\.1\.1: http.* it answered 302, a redirect to \/right/],
    ["404", 10, /2027\.1\.1: http.* it answered 404/],
  ])("%s ends with %i", async (way, code, told) => {
    pinnedTo({ "2027.1.1": way });
    expect(await registry("verify", "hermes", "2027.1.1")).toMatchObject({ code, stdout: expect.stringMatching(told) });
  });

  it("reports each, and ends with the worst code", async () => {
    pinnedTo({ "2027.1.1": "404", "2027.1.2": "a flipped bit" });
    const { code, stdout } = await registry("verify", "hermes", "2027.1.1", "2027.1.2");
    expect(code).toBe(30);
    expect(stdout).toMatch(/^hermes +2027\.1\.1 +fail +see below$/m);
    expect(stdout).toMatch(/^hermes +2027\.1\.2 +fail +see below$/m);
  });

  it("--cached uses no network, and finds a damaged copy", async () => {
    pinnedTo({ "2027.1.1": "right" });
    const cached = async () => {
      const { code, stdout } = await registry("verify", "hermes", "2027.1.1", "--cached", "-o", "json");
      return [code, JSON.parse(stdout)[0].result];
    };
    expect(await cached()).toEqual([0, "skipped"]);
    await registry("verify", "hermes", "2027.1.1");
    expect(await cached()).toEqual([0, "ok"]);
    writeFileSync(join(dir, "cache", sha256), Buffer.alloc(size));
    expect(await cached()).toEqual([30, "fail"]);
    expect(server.asked).toEqual(["right"]);
  });

  it("--cached checks every version", async () => {
    const { code, stdout } = await registry("verify", "--cached", "-o", "name");
    expect([code, stdout]).toEqual([0, (await registry("list", "-o", "name")).stdout]);
  });
});

describe("clm registry pin", () => {
  const pin = (way: Way, ...more: string[]) =>
    registry("pin", "hermes", "2027.1.1", "--url", server.url(way), "--reports", "0.99.0", ...more);

  it("fetches, and writes the digest to the user's manifest", async () => {
    const commit = "0123456789".repeat(4);
    const { code, stdout, stderr } = await pin("right", "--yes", "--commit", commit, "-o", "json");
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      {
        type: "hermes",
        version: "2027.1.1",
        reports: "0.99.0",
        commit,
        installer: { url: server.url("right"), size, sha256 },
        file: mine(),
        changed: true,
      },
    ]);
    expect(stderr).toContain("compare the digest with one you trust");
    expect(
      readFileSync(mine(), "utf8"),
    ).toBe(`# Your own versions, added to the built-in ones. clm registry pin writes here; you may edit it.
type: hermes
versions:
  2027.1.1:
    reports: 0.99.0
    commit: "${commit}"
    installer:
      url: ${server.url("right")}
      size: ${size}
      sha256: ${sha256}
`);
    expect(statSync(mine()).mode & 0o777).toBe(0o600);
    expect(audited()).toContain('"registry pin"');
    expect((await registry("list")).stdout).toMatch(/^hermes +2027\.1\.1 +0\.99\.0 +no +no +\/.*hermes\.yaml +yes$/m);
    expect((await registry("verify", "hermes", "2027.1.1")).code).toBe(0);
  });

  it("reports an existing pin, and changes nothing", async () => {
    await pin("right", "--yes");
    const before = [readFileSync(mine(), "utf8"), audited()];
    expect(await pin("right")).toMatchObject({ code: 0, stdout: expect.stringContaining("already") });
    expect([readFileSync(mine(), "utf8"), audited()]).toEqual(before);
  });

  it("keeps existing entries and comments", async () => {
    overlay(
      "hermes.yaml",
      `# mine
default: 2027.1.0 # not the newest
versions:
  # tried on wolf-i
  2027.1.0:
    reports: 0.98.0
    reach: [http://mirror]
    installer: { url: "${server.url("right")}", size: 1, sha256: ${sha256} }
`,
    );
    expect((await pin("right", "--yes")).code).toBe(0);
    const again = ["pin", "hermes", "2027.1.0", "--replace", "--yes"];
    expect((await registry(...again)).code).toBe(0);
    expect(readFileSync(mine(), "utf8")).toBe(`type: hermes
# mine
default: 2027.1.0 # not the newest
versions:
  # tried on wolf-i
  2027.1.0:
    reports: 0.98.0
    reach: [ http://mirror ]
    installer: { url: "${server.url("right")}", size: ${size}, sha256: ${sha256} }
  2027.1.1:
    reports: 0.99.0
    installer:
      url: ${server.url("right")}
      size: ${size}
      sha256: ${sha256}
`);
  });

  it("takes a file", async () => {
    const file = join(dir, "install.sh");
    writeFileSync(file, bytes);
    const words = ["pin", "hermes", "2026.8.1", "--reports", "0.19.0", "--installer-file", file, "--yes", "-o", "json"];
    const { stdout } = await registry(...words);
    const [newest] = JSON.parse(
      (await registry("show", "hermes", "2026.7.1", "-o", "json")).stdout,
    ).installer.url.split("2026.7.1");
    expect(JSON.parse(stdout).installer).toMatchObject({
      size,
      sha256,
      url: expect.stringContaining(`${newest}2026.8.1/`),
    });
  });

  it.each<[Way, RegExp]>([
    ["a web page", /it is a web page, not a script/],
    ["empty", /it is empty/],
    ["302 to the right bytes", /redirect to \/right/],
    ["cut short, and says it is whole", /it was cut short/],
    ["no end", /longer than 8388608 bytes/],
  ])("refuses %s", async (way, told) => {
    expect(await pin(way, "--yes")).toMatchObject({ code: 30, stderr: expect.stringMatching(told) });
    expect([existsSync(mine()), kept(), audited()]).toEqual([false, [], ""]);
  });

  it("refuses a file that is no script", async () => {
    writeFileSync(join(dir, "x"), "hello");
    expect(await pin("right", "--installer-file", join(dir, "x"), "--yes")).toMatchObject({
      code: 30,
      stderr: expect.stringContaining("does not begin with #!"),
    });
  });

  it.each([
    [["pin", "hermes", "latest"], "'latest' is not a version"],
    [["pin", "hermes", "2027.1.1", "--commit", "abc"], "'abc' is not a commit"],
    [["pin", "hermes", "2027.1.1", "--url", "ftp://x/y"], "must be an http, https or file URL"],
    [["pin", "hermes", "2027.1.1", "--url", "https://me:pw@x/y"], "it contains a password"],
  ])("refuses before any request: %j", async (words, told) => {
    expect(await registry(...words, "--yes")).toMatchObject({ code: 2, stderr: expect.stringContaining(told) });
  });

  it("needs the version's own name", async () => {
    expect(await registry("pin", "hermes", "2027.1.1", "--yes")).toMatchObject({
      code: 6,
      stderr: expect.stringContaining("--reports"),
    });
  });

  it("asks for confirmation, and changes nothing without it", async () => {
    expect(await pin("right")).toMatchObject({
      code: 6,
      stderr: expect.stringMatching(new RegExp(`${size} bytes, sha256 ${sha256}[^]*--yes`)),
    });
    expect(existsSync(mine())).toBe(false);
  });

  it("only reports in a dry run", async () => {
    const { code, stdout, stderr } = await pin("right", "--dry-run");
    expect([code, stdout]).toEqual([0, ""]);
    expect(stderr).toContain(`would pin hermes 2027.1.1 to ${size} bytes, sha256 ${sha256}`);
    expect([existsSync(mine()), kept()]).toEqual([false, []]);
  });

  describe("of a version that is pinned to other bytes", () => {
    const repin = (...more: string[]) =>
      registry("pin", "hermes", "2026.7.1", "--url", server.url("right"), "--yes", ...more);

    it("is an alarm", async () => {
      const { code, stderr } = await repin();
      expect(code).toBe(30);
      expect(stderr).toMatch(/pinned: 133429 bytes, sha256 a93c65b0/);
      expect(stderr).toContain(`seen:   ${size} bytes, sha256 ${sha256}`);
      expect(stderr).toContain("next: clm registry pin hermes 2026.7.1 --replace");
      expect(existsSync(mine())).toBe(false);
    });

    it("is done with --replace, and the commit that goes with them", async () => {
      expect(await repin("--replace")).toMatchObject({ code: 2, stderr: expect.stringContaining("--commit") });
      expect((await repin("--replace", "--commit", "a".repeat(40))).code).toBe(0);
      expect(JSON.parse((await registry("show", "hermes", "2026.7.1", "-o", "json")).stdout)).toMatchObject({
        reports: "0.18.0",
        commit: "a".repeat(40),
        pinned_by: mine(),
        installer: { size, sha256 },
      });
    });

    it("is left to the file that pins it", async () => {
      pinnedTo({ "2027.1.1": "right" });
      expect(await pin("right", "--replace", "--yes")).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("2027.1.1 is pinned by"),
      });
    });
  });

  it("two at once lose nothing", async () => {
    const both = ["2027.1.1", "2027.1.2"].map((version) =>
      registry("pin", "hermes", version, "--url", server.url("in small pieces"), "--reports", "0.99.0", "--yes"),
    );
    for (const { code } of await Promise.all(both)) expect(code).toBe(0);
    const listed = (await registry("list", "-o", "name")).stdout;
    for (const version of ["2027.1.1", "2027.1.2"]) expect(listed).toContain(`hermes ${version}\n`);
  });
});
