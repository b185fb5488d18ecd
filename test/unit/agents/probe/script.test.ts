import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { symptomsScript } from "../../../../src/agents/doctor/symptoms.js";
import { loadType } from "../../../../src/agents/manifest/registry.js";
import { resolvedAgent } from "../../../../src/agents/plan/resolved-agent.js";
import { proofLibrary } from "../../../../src/agents/probe/proof/library.js";
import { parseObservation } from "../../../../src/agents/probe/proof/observation.js";
import { proofScript } from "../../../../src/agents/probe/proof/script.js";
import {
  filesCalls,
  probeLibrary,
  probeScriptForMany,
  splitSections,
  versionCall,
} from "../../../../src/agents/probe/script.js";
import { parseStatusObservations, straysFrom } from "../../../../src/agents/probe/status/observation.js";
import {
  driftScript,
  quickStatusScript,
  statusScript,
  straysScript,
} from "../../../../src/agents/probe/status/script.js";
import sights from "../../../../src/agents/probe/status/status.sh?raw";
import { agentNameFrom } from "../../../../src/names.js";
import { quote } from "../../../../src/quote.js";
import { commandFor } from "../../../../src/remote/stdin-script.js";
import { sampleAgent } from "../../state/sample-agent.js";

const library = proofLibrary + sights;
const { manifest } = await loadType("/nonexistent", "hermes");
const record = resolvedAgent(manifest, {
  name: agentNameFrom("ada"),
  ref: "ada",
  host: { name: "wolf-i" } as never,
  record: sampleAgent("ada", { mark: "0123abcd" }),
});

// Some are about what takes as long as it may.
vi.setConfig({ testTimeout: 60_000 });

let home = "";
let bin = "";
const began = Math.floor(Date.now() / 1000) - 3600;
/** As systemctl prints it. */
const start = `Mon ${new Date(began * 1000).toISOString().slice(0, 19).replace("T", " ")}.500000 UTC`;

/** The home of an agent whose user runs the test, without root. */
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "clm-looking-"));
  bin = join(home, "bin");
  mkdirSync(join(home, "data/logs"), { recursive: true });
  mkdirSync(bin);
  program("setpriv", 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"');
  program("getent", "echo ada:x:1001:1001:mark:/home/ada:/bin/sh");
  program(
    "systemctl",
    `case "$*" in *--value*) echo ${start} ;; *--version*) echo systemd 252 ;; *) echo MainPID=1; echo ExecMainStartTimestamp=@${began} ;; esac`,
  );
  program("journalctl", "exit 0");
  program("launcher", "echo Hermes Agent v1");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const program = (name: string, text: string) => writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });

const agent = () => {
  const data = join(home, "data");
  const paths = { ...record.paths, home, data, env: join(data, ".env"), config: join(data, "config.yaml") };
  return { ...record, paths: { ...paths, launcher: join(bin, "launcher"), path: [] } };
};

/** A hanging agent has no end marker in its output. */
const said = (script: string, stdin = ""): string =>
  spawnSync("dash", ["-c", commandFor(script)], {
    input: script + stdin,
    encoding: "utf8",
    timeout: 20_000,
    killSignal: "SIGKILL",
    maxBuffer: 1 << 26,
    env: { PATH: `${bin}:${process.env.PATH}`, TZ: "UTC" },
  }).stdout;

const parts = (...calls: string[]): string =>
  said(
    [
      probeLibrary(library),
      `uid=1001 gid=1001 user=ada unit=u salt='' port=1 health=/h models=/m chat=''`,
      `home=${quote(home)} data=${quote(join(home, "data"))} env=${quote(join(home, "data/.env"))} search=/usr/bin:/bin`,
      "exec </dev/null",
      ...calls,
      "say end yes",
      "",
    ].join("\n"),
  );

const all = (text: string, key: string): string[] =>
  text
    .split("\n")
    .filter((line) => line.startsWith(`${key}=`))
    .map((line) => line.slice(key.length + 1));

const readVariables = () => `probe_own_files '' a b variable ${quote(join(home, "data/.env"))}`;

const stamp = (seconds: number) => new Date(seconds * 1000).toISOString().replace("T", " ").slice(0, 19);

describe("an agent that has a FIFO where its files should be", () => {
  beforeEach(() => {
    for (const file of [".env", "config.yaml", "gateway_state.json", "logs/errors.log"])
      execFileSync("mkfifo", [join(home, "data", file)]);
  });

  const planned = () => ({ salt: "5a17", texts: { config: join(home, "data", "config.yaml") } });
  it.each([
    ["a sight", () => statusScript([{ resolved: agent(), planned: planned() }])],
    ["a glance", () => quickStatusScript([{ resolved: agent() }])],
    ["a comparison", () => driftScript([{ resolved: agent(), planned: planned() }])],
    ["the doctor", () => symptomsScript([agent()])],
    ["a proof", () => proofScript(agent(), { planned: planned() })],
    ["its words", () => proofScript(agent(), { words: {} })],
  ])("does not block: %s", (_about, script) => {
    expect(said(script(), "key\n")).toMatch(/^(0 )?end=yes\n/m);
  });
});

describe("processes outside its units", () => {
  it("are counted, and undefined when the output broke off", () => {
    // No process of this machine has that user.
    program("getent", "echo ada:x:3999999:1001:mark:/home/ada:/bin/sh");
    const out = said(straysScript("ada", ["a'b; reboot", "u"]));
    expect(straysFrom(out)).toEqual({ count: 0, first: [] });
    expect(straysFrom(out.replace("0 end=yes", ""))).toBeUndefined();
    const more = "0 strays=12\n0 stray=7 sleep \t9\n0 stray=8\n0 end=yes\nend=yes\n";
    expect(straysFrom(more)).toEqual({
      count: 12,
      first: [
        { pid: 7, command: "sleep  9" },
        { pid: 8, command: "" },
      ],
    });
  });
});

describe("its version", () => {
  const file = () => join(home, "release.py");
  const constants = '"""Says which one it is."""\n__version__ = "0.18.0"\n__release_date__ = \'2026.7.1\'\n';
  const version = () => {
    const { manifest, paths } = agent();
    if (!manifest.version) throw new Error("the manifest says nothing of versions");
    const own = { ...agent(), manifest: { ...manifest, version: { ...manifest.version, file: file() } }, paths };
    const out = parts(versionCall(own));
    return [all(out, "version"), all(out, "end")];
  };
  beforeEach(() => program("launcher", `echo ran >>${quote(join(home, "ran"))}`));

  it("is read from its files, and nothing of it is run", () => {
    writeFileSync(file(), constants);
    expect(version()).toEqual([["Hermes Agent v0.18.0 (2026.7.1)"], ["yes"]]);
    expect(existsSync(join(home, "ran"))).toBe(false);
  });

  it.each([
    ["has only one of the two", () => writeFileSync(file(), '__version__ = "0.18.0"\n')],
    ["says something else than a version", () => writeFileSync(file(), constants.replace("0.18.0", "$(id)\u0007"))],
    ["is a pipe", () => execFileSync("mkfifo", [file()])],
    ["is a directory", () => mkdirSync(file())],
    ["is not there", () => {}],
    ["has no launcher beside it", () => [writeFileSync(file(), constants), rmSync(join(bin, "launcher"))]],
    ["says it too late", () => writeFileSync(file(), `${"#".repeat(30_000)}\n${constants}`)],
  ])("is unknown when the file %s", (_about, make) => {
    make();
    expect(version()).toEqual([[""], ["yes"]]);
  });
});

describe("its Codex", () => {
  const codex = () =>
    all(
      parts(`config=/nowhere search=${quote(bin)}:/usr/bin`, "probe_runtime codex openai_runtime"),
      "runtime-version",
    );
  const install = (version: string) => {
    const place = join(home, "lib/codex/1");
    mkdirSync(join(place, "vendor/bin"), { recursive: true });
    writeFileSync(join(place, "vendor/bin/codex"), "#!/bin/sh\necho codex-cli 9.9.9\n", { mode: 0o755 });
    writeFileSync(join(place, "package.json"), JSON.stringify({ name: "@openai/codex", version }));
    symlinkSync(join(place, "vendor/bin/codex"), join(bin, "codex"));
  };

  it("is read from its package, without running it", () => {
    install("0.166.0-linux-x64");
    expect(codex()).toEqual(["0.166.0-linux-x64"]);
  });

  it("is installed with an unknown version without a package", () => {
    program("codex", "echo codex-cli 9.9.9");
    expect(codex()).toEqual(["unknown"]);
  });

  it("is not there", () => expect(codex()).toEqual([""]));
});

describe("agents cannot forge each other's lines", () => {
  it("because no line is longer than one write", () => {
    const out = parts(`say x ${"y".repeat(9000)}`);
    expect(all(out, "x")).toEqual(["y".repeat(3000)]);
  });

  it.each([[""], ["5a17"]])("by the name of a variable (salt '%s')", (salt) => {
    writeFileSync(join(home, "data/.env"), `A=1\n${"B".repeat(9000)}=2\nC=3`);
    const out = parts(`salt=${quote(salt)} config=/nowhere`, readVariables());
    expect(all(out, "variable").map((each) => each.split(" ")[0])).toEqual(["A", "C"]);
  });

  it("by an answer of its model", () => {
    program("bash", "head -c 50000 /dev/zero");
    const out = parts("chat_path=/c chat_seconds=1 chat_body=b key=k", "probe_chat");
    expect(Math.max(...out.split("\n").map((line) => line.length))).toBeLessThan(3100);
    expect(parseObservation(out)?.chat?.body ?? "").toBe("");
    expect(Buffer.from(all(out, "chat").join(""), "base64").length).toBe(50_000);
  });
});

describe("the read part of its files is limited", () => {
  it("for a log, without a partial line, which may be half a secret", () => {
    const late = stamp(began + 60);
    writeFileSync(
      join(home, "data/logs/errors.log"),
      `${late} ERROR ${"x".repeat(150_000)}\n${late} ERROR ${"y".repeat(150_000)}\n${late} ERROR z\n`,
    );
    const [, last, ...more] = [late, ...all(parts("probe_log"), "log")];
    expect([last?.slice(0, 26), last?.length, more]).toEqual([`${late} ERROR `, 1500, [`${late} ERROR z`]]);
    truncateSync(join(home, "data/logs/errors.log"), 3_000_000_000);
    expect(all(parts("probe_log"), "end")).toEqual(["yes"]);
  });

  it("lines before its start and their continuation are left out", () => {
    const lines = [
      ...[`${stamp(began - 60)} ERROR old`, "Traceback", `${stamp(began)},400 ERROR old`, "Traceback"],
      ...[`${stamp(began)},600 ERROR new`, "Traceback of it", `${stamp(began)} ERROR whole second`],
    ];
    writeFileSync(join(home, "data/logs/errors.log"), `${lines.join("\n")}\n`);
    expect(all(parts("probe_log"), "log")).toEqual(lines.slice(4));
  });

  it("of its variables, each with the digest of its line", () => {
    const lines = Array.from({ length: 1200 }, (_, at) => ` export V${at} = "a b" # ${at}`);
    writeFileSync(join(home, "data/.env"), `# no variable\n${lines.join("\n")}\n`);
    const told = all(parts("salt=5a17 config=/nowhere", readVariables()), "variable");
    expect(told).toHaveLength(1000);
    const digest = createHash("sha256").update(`5a17${lines[7]}\n`).digest("hex");
    expect(told[7]).toBe(`V7 ${digest}`);
  });
});

describe("its own file arrives unchanged", () => {
  it.each([
    ["with a newline at its end", "a: 1\n\n  b: 2\r\n"],
    ["without one", "{\n}"],
    ["with one line that is long, of characters of several bytes", `x${"ü€".repeat(3000)}`],
    ["with nothing in it", ""],
  ])("%s", (_about, text) => {
    writeFileSync(join(home, "data/codex.toml"), text);
    const files = filesCalls(agent(), [], { texts: { codex: join(home, "data/codex.toml") } });
    const seen = parseObservation(parts(files.probe, ...files.read));
    expect(seen?.texts.codex).toEqual({ there: true, text });
  });

  it("or not at all, when it is no text", () => {
    writeFileSync(join(home, "data/codex.toml"), Buffer.from([0x61, 0, 0xff, 0x0a]));
    const files = filesCalls(agent(), [], { texts: { codex: join(home, "data/codex.toml") } });
    expect(parseObservation(parts(files.probe, ...files.read))?.texts.codex).toEqual({ there: true });
  });
});

describe("the agent's port", () => {
  it("is read even where requests hang", () => {
    program("bash", "exec sleep 30");
    program("timeout", "exit 124");
    expect(parseObservation(parts("key=k pid=0 unit_group=''", "probe_api"))).toMatchObject({
      listeners: [],
      answers: {},
    });
  });

  it("is not probed without bash, and that is reported", () => {
    const out = parts("key=k pid=0 unit_group=''", "command() { return 1; }", "probe_api");
    expect(parseObservation(out)).toMatchObject({ noBash: true, answers: {} });
  });
});

describe("several agents in one script", () => {
  it("are distinguished by number, even when their lines break off", () => {
    expect(splitSections("x=1\n1 a=1\n0 b=2\n7 c=3\n1 end=yes\n0 d", 2)).toEqual(["b=2\nd", "a=1\nend=yes"]);
  });

  it("that completed are reported although another did not", () => {
    const text = "1 uid=5\n0 uid=6\n1 end=yes\n0 unit.LoadState=loa";
    expect(parseStatusObservations(text, 2).map((sight) => sight?.basics.uid)).toEqual([undefined, 5]);
  });

  it("are not all probed at once", () => {
    const script = probeScriptForMany(
      library,
      [],
      Array.from({ length: 20 }, (_, at) => `say at ${at}`),
    );
    expect(script.match(/^wait$/gm)).toHaveLength(3);
    expect(splitSections(said(script), 20)).toEqual(Array.from({ length: 20 }, (_, at) => `at=${at}\nend=yes`));
  });
});
