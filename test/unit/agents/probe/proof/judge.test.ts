import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import hermesChat from "../../../../../src/agents/hermes/chat/chat-dialect.js";
import { proofIds } from "../../../../../src/agents/manifest/proof-ids.js";
import { loadType } from "../../../../../src/agents/manifest/registry.js";
import { resolvedAgent } from "../../../../../src/agents/plan/resolved-agent.js";
import { judge } from "../../../../../src/agents/probe/proof/judge.js";
import { isFinalLogCause, withLogCause } from "../../../../../src/agents/probe/proof/log-cause.js";
import { type Observation, parseObservation } from "../../../../../src/agents/probe/proof/observation.js";
import { proofScript } from "../../../../../src/agents/probe/proof/script.js";
import { agentNameFrom } from "../../../../../src/names.js";
import { sampleAgent } from "../../../state/sample-agent.js";
import { programAgent } from "../../program/program-agent.js";
import { healthyLines } from "../healthy-lines.js";

interface Case {
  about: string;
  version?: string;
  /** It was taken over. */
  adopted?: boolean;
  channels?: Record<string, Record<string, string>>;
  first?: string[];
  lines?: string[];
  no?: string[];
  answer?: { status: number; headers?: Record<string, string>; body?: unknown; text?: string; interim?: boolean };
  noChat?: string;
  expect: Record<string, [result: string, reason?: string, fix?: string]>;
}

const cases = (file: string): Case[] => parse(readFileSync(`test/cases/proof/${file}.yaml`, "utf8"));

const { manifest } = await loadType("/nonexistent", "hermes");

const subjectFor = (version: string, channels: Record<string, Record<string, string>> = {}) =>
  resolvedAgent(manifest, {
    name: agentNameFrom("ada"),
    ref: "ada",
    host: { name: "wolf-i" } as never,
    record: sampleAgent("ada", { version, channels, mark: "0123abcd", onboarding: { state: "validate", stages: {} } }),
  });

const answered = ({ status, headers = {}, body, text, interim }: NonNullable<Case["answer"]>): string => {
  const head = [
    `HTTP/1.1 ${status} Something`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "content-type: application/json",
  ];
  const before = interim ? "HTTP/1.1 100 Continue\r\n\r\n" : "";
  const raw = status === 0 ? "" : `${before}${head.join("\r\n")}\r\n\r\n${text ?? JSON.stringify(body)}`;
  return `chat=${Buffer.from(raw).toString("base64")}`;
};

const ok = { choices: [{ finish_reason: "stop", message: { content: "OK" } }] };

function see(
  { version = "2026.7.1", no = [], answer = { status: 200, body: ok } }: Case,
  instead: string[],
): Observation {
  const keyOf = (line: string) => line.slice(0, line.indexOf("="));
  const given = new Set([...instead.map(keyOf), ...no]);
  const base = [...healthyLines(version), answered(answer)].filter((line) => !given.has(keyOf(line)));
  // A holder follows its listener.
  const order = (line: string) => ["listen", "holder"].indexOf(keyOf(line));
  const lines = [...base, ...instead].sort((a, b) => order(a) - order(b));
  const seen = parseObservation([...lines, "end=yes", ""].join("\n"));
  if (!seen) throw new Error("it does not go to the end");
  return seen;
}

describe.each(["state", "gate", "chat", "listeners"])("proofs: %s", (file) => {
  it.each(cases(file).map((each) => [each.about, each] as const))("%s", (_about, each) => {
    const agent = { ...subjectFor(each.version ?? "2026.7.1", each.channels), adopted: each.adopted ?? false };
    const first = each.first && see(each, each.first);
    // Connection proofs have their own cases below.
    const isHere = (id: string) => id !== "channels" && id !== "mcp";
    const judged = judge(agent, see(each, each.lines ?? []), { first, chat: hermesChat, noChat: each.noChat });
    const proofs = judged.filter(({ id }) => isHere(id));
    expect(proofs.map(({ id }) => id)).toEqual(proofIds.filter(isHere));
    for (const { id, result, reason, fix } of proofs) {
      const [wanted, why, what] = each.expect[id] ?? ["ok"];
      expect([id, result]).toEqual([id, wanted]);
      if (why) expect(reason).toBe(why);
      if (what) expect(fix).toBe(what);
      // Every failure names a fix.
      expect(result === "fail" && !fix).toBe(false);
    }
  });
});

describe("channels and MCP servers", () => {
  const agent = { ...subjectFor("2026.7.1"), channels: ["discord"], servers: ["files"] };
  const gateway = (entry: object) =>
    `gateway=${Buffer.from(JSON.stringify({ platforms: { discord: entry } })).toString("base64")}`;
  const at = "2026-11-16T11:00:01+00:00";
  const lost =
    "server=2026-11-16 12:00:04,200 WARNING tools.mcp_tool: MCP server 'files' failed initial connection after 3 attempts, giving up: x";

  it.each<[string, string[], string[], object]>([
    ["connected", [gateway({ state: "connected", updated_at: at })], [], { channels: "ok" }],
    ["retrying", [gateway({ state: "retrying", updated_at: at })], [], { channels: "fail connecting" }],
    ["given up", [gateway({ state: "fatal", updated_at: at })], [], { channels: "fail refused" }],
    [
      "of an earlier process",
      [gateway({ state: "connected", updated_at: "2026-11-16T10:59:59+00:00" })],
      [],
      { channels: "fail connecting" },
    ],
    ["not written yet", [], [], { channels: "fail connecting" }],
    ["of one that does not run", [], ["age"], { channels: "skipped" }],
    ["not asked for", [], ["connections"], {}],
    ["a server without a word", ["servers=yes"], ["connections"], { mcp: "ok" }],
    ["a server that was given up", ["servers=yes", lost], ["connections"], { mcp: "fail" }],
  ])("%s", (_about, lines, no, expected) => {
    const proofs = judge(agent, see({ about: "", no, expect: {} }, lines));
    const found = proofs.filter(({ id }) => id === "channels" || id === "mcp");
    const told = found.map(({ id, result, cause }) => [id, [result, cause].filter(Boolean).join(" ")]);
    expect(Object.fromEntries(told)).toEqual(expected);
  });
});

it("does not take lines that were cut off for an answer", () => {
  expect(parseObservation("uid=1001\nhealth=200\n")).toBeUndefined();
});

it("puts no key and no unquoted word into the script", () => {
  const script = proofScript({ ...subjectFor("2026.7.1"), unit: "a'b; reboot" }, { chat: hermesChat });
  expect(script).toContain("unit='a'\\''b; reboot'");
});

describe("causes", () => {
  const agent = {
    ...subjectFor("2026.7.1"),
    manifest: {
      ...manifest,
      causes: [
        {
          id: "port-taken",
          pattern: "already in use",
          reason: "the port is taken",
          next: "clm agent configure {{name}} --port auto",
          final: true,
          mild: false,
        },
        { id: "odd", pattern: "WARNING", reason: "something was odd", final: false, mild: false },
      ],
    },
  };
  const stopped = judge(
    agent,
    see({ about: "", no: ["listen", "holder", "health", "none", "wrong", "own"], expect: {} }, []),
  );

  it("are read from any line, the first of the manifest before the others", () => {
    const words = ["Port 8642 already in use", "WARNING: x", "bye"];
    const port = withLogCause(agent, stopped, words).find(({ id }) => id === "port");
    expect(port).toMatchObject({
      reason: "nothing listens on port 8642; the port is taken",
      fix: "clm agent configure ada --port auto",
    });
  });

  it("explain only the proofs they name", () => {
    const [taken] = agent.manifest.causes;
    const narrow = {
      ...agent,
      manifest: { ...manifest, causes: [{ ...taken, proofs: ["chat" as const] }] },
    } as never;
    const words = ["Port 8642 already in use", "bye"];
    const port = withLogCause(narrow, stopped, words).find(({ id }) => id === "port");
    expect(port?.reason).toBe("nothing listens on port 8642; its last output: bye");
    expect(isFinalLogCause(narrow, words, stopped)).toBe(false);
  });

  it("about Hermes' port or key are no cause of a model failure", () => {
    const chat = [{ id: "chat" as const, result: "fail" as const, reason: "no answer", fix: "x" }];
    const words = ["Refusing to start the API server", "401 Unauthorized"];
    expect(withLogCause(subjectFor("2026.7.1"), chat, words)[0]?.reason).toBe(
      "no answer; the provider refuses the key",
    );
    const port = withLogCause(subjectFor("2026.7.1"), stopped, words).find(({ id }) => id === "port");
    expect(port?.reason).toContain("does not accept its API key");
  });

  it("are read from the failure itself before the log, and a log of something else explains nothing", () => {
    const hermes = subjectFor("2026.7.1");
    const failed = (reason: string, cause?: "no-answer") => [
      { id: "chat" as const, result: "fail" as const, reason, fix: "x", ...(cause && { cause }) },
    ];
    const words = [
      "ERROR gateway.run: Error code: 401 - Incorrect API key provided",
      "WARNING agent.model_metadata: Failed to fetch model metadata from OpenRouter: Temporary failure in name resolution",
    ];
    const told = (reason: string, log = words, cause?: "no-answer") =>
      withLogCause(hermes, failed(reason, cause), log)[0]?.reason;
    const down = "no answer from the model: API call failed after 3 retries: HTTP 500: it always fails";
    expect(told(down)).toBe(`${down}; the provider cannot be reached from the host`);
    expect(told("no answer from the model: it is Monday", words.slice(1))).toBe(
      "no answer from the model: it is Monday",
    );
    expect(told("no answer", ["socket.gaierror: [Errno -3] Temporary failure in name resolution"])).toBe(
      "no answer; the host cannot resolve names",
    );
    expect(told("no answer", ["bye"])).toBe("no answer");
    expect(told("no answer", ["bye"], "no-answer")).toBe("no answer; its last output: bye");
  });

  it("of Hermes lead nowhere that only looks again", () => {
    for (const { next } of manifest.causes) expect(next ?? "").not.toContain("--stage validate");
  });

  it("without one, the last log line is reported", () => {
    const port = withLogCause(agent, stopped, ["hello", "bye", ""]).find(({ id }) => id === "port");
    expect(port?.reason).toBe("nothing listens on port 8642; its last output: bye");
  });

  it("a deliberate stop has no log line as its reason", () => {
    const words = [
      "bye",
      "Stopped hermes-ada.service - Hermes Agent ada.",
      "hermes-ada.service: Consumed 1.2s CPU time.",
    ];
    expect(withLogCause(agent, stopped, words)).toEqual(stopped);
  });

  it("are not looked for where the reason is known", () => {
    const open = judge(agent, see({ about: "", expect: {} }, ["none=200"]));
    expect(withLogCause(agent, open, ["Port 8642 already in use"])).toEqual(open);
  });
});

it.each([
  ["inactive", "dead", "down"],
  ["failed", "failed", "down"],
  ["activating", "auto-restart", undefined],
])("a unit that is %s (%s) stays down until somebody starts it: %s", (active, sub, cause) => {
  const lines = [...healthyLines("2026.7.1"), `unit.ActiveState=${active}`, `unit.SubState=${sub}`, "end=yes", ""];
  const proofs = judge(subjectFor("2026.7.1"), parseObservation(lines.join("\n")) as Observation);
  expect(proofs.find(({ id }) => id === "unit")).toMatchObject({ result: "fail", ...(cause && { cause }) });
  expect(proofs.find(({ id }) => id === "unit")?.cause).toBe(cause);
});

describe("a program, whose settings say what it serves", () => {
  const running = [
    ...["uid=1001", "file.home=directory:bot:700", "file.data=directory:bot:700", "file.env=regular file:bot:600"],
    ...["unit.LoadState=loaded", "unit.ActiveState=active", "unit.SubState=running", "unit.NRestarts=0"],
    ...["unit.MainPID=700", "age=1000", "open-ports=yes"],
  ];
  const listening = ["listen=0100007F/7", "holder=yes 700 bot python3"];
  const open = ["listen=00000000/7", "holder=yes 700 bot python3", "open-port=00000000 8700 700 python3"];
  const http = { health: "http", health_path: "/ok" };
  const well = { files: "ok", unit: "ok", steady: "ok", listeners: "ok" };

  it.each<[string, Record<string, string>, string[], object]>([
    ["nothing, and does not listen", {}, [], well],
    ["nothing, and listens", {}, listening, well],
    ["nothing, and is open to other machines", {}, open, { ...well, listeners: "fail" }],
    ["TCP", { health: "tcp" }, listening, { ...well, port: "ok" }],
    ["TCP, and does not listen", { health: "tcp" }, [], { ...well, port: "fail" }],
    ["TCP, and is open to other machines", { health: "tcp" }, open, { ...well, port: "fail" }],
    ["HTTP", http, [...listening, "health=200"], { ...well, port: "ok", health: "ok" }],
    ["HTTP, and is not well", http, [...listening, "health=503"], { ...well, port: "ok", health: "fail" }],
    ["HTTP, and does not listen", http, [], { ...well, port: "fail", health: "skipped" }],
  ])("%s", (_about, settings, lines, expected) => {
    const seen = parseObservation([...running, ...lines, "end=yes", ""].join("\n"));
    if (!seen) throw new Error("it does not go to the end");
    const proofs = judge(programAgent({ command: "x", ...settings }), seen, { noChat: "program agents have no chat" });
    expect(Object.fromEntries(proofs.map(({ id, result }) => [id, result]))).toEqual(expected);
    for (const { id, reason } of proofs) if (id === "health") expect(reason).toMatch(/^(\/ok returned|needs port)/);
  });

  it("is missing with its account", () => {
    const seen = parseObservation("end=yes\n");
    if (!seen) throw new Error("it does not go to the end");
    const [first] = judge(programAgent({ command: "x" }), seen);
    expect(first).toMatchObject({ id: "version", result: "fail", reason: "there is no user bot on the host" });
  });
});
