import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { finalCause, withCause } from "../../../src/agents/proof/cause.js";
import { judge } from "../../../src/agents/proof/judge.js";
import { proofIds } from "../../../src/agents/proof/proof.js";
import { proofScript } from "../../../src/agents/proof/script.js";
import { type Seen, seenFrom } from "../../../src/agents/proof/seen.js";
import { loadType } from "../../../src/agents/registry.js";
import { subjectOf } from "../../../src/agents/subject.js";
import { sampleAgent } from "../state/sample-agent.js";
import { healthyLines } from "./healthy-lines.js";

interface Case {
  about: string;
  version?: string;
  /** It was taken over. */
  adopted?: boolean;
  first?: string[];
  lines?: string[];
  no?: string[];
  answer?: { status: number; headers?: Record<string, string>; body?: unknown; text?: string; interim?: boolean };
  noChat?: string;
  expect: Record<string, [result: string, reason?: string, fix?: string]>;
}

const cases = (file: string): Case[] => parse(readFileSync(`test/cases/proof/${file}.yaml`, "utf8"));

const { manifest } = await loadType("/nonexistent", "hermes");

const subjectFor = (version: string) =>
  subjectOf(manifest, {
    name: "ada",
    word: "ada",
    host: { name: "wolf-i" } as never,
    record: sampleAgent("ada", { version, mark: "0123abcd", onboarding: { state: "validate", stages: {} } }),
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

function see({ version = "2026.7.1", no = [], answer = { status: 200, body: ok } }: Case, instead: string[]): Seen {
  const keyOf = (line: string) => line.slice(0, line.indexOf("="));
  const given = new Set([...instead.map(keyOf), ...no]);
  const base = [...healthyLines(version), answered(answer)].filter((line) => !given.has(keyOf(line)));
  // A holder is told right after its listener.
  const order = (line: string) => ["listen", "holder"].indexOf(keyOf(line));
  const lines = [...base, ...instead].sort((a, b) => order(a) - order(b));
  const seen = seenFrom([...lines, "end=yes", ""].join("\n"));
  if (!seen) throw new Error("it does not go to the end");
  return seen;
}

describe.each(["state", "gate", "chat"])("proofs: %s", (file) => {
  it.each(cases(file).map((each) => [each.about, each] as const))("%s", (_about, each) => {
    const subject = { ...subjectFor(each.version ?? "2026.7.1"), adopted: each.adopted ?? false };
    const first = each.first && see(each, each.first);
    const proofs = judge(subject, see(each, each.lines ?? []), { first, noChat: each.noChat });
    expect(proofs.map(({ id }) => id)).toEqual(proofIds);
    for (const { id, result, reason, fix } of proofs) {
      const [wanted, why, what] = each.expect[id] ?? ["ok"];
      expect([id, result]).toEqual([id, wanted]);
      if (why) expect(reason).toBe(why);
      if (what) expect(fix).toBe(what);
      // Whatever fails says what to do.
      expect(result === "fail" && !fix).toBe(false);
    }
  });
});

it("does not take lines that were cut off for an answer", () => {
  expect(seenFrom("uid=1001\nhealth=200\n")).toBeUndefined();
});

it("puts no key and no unquoted word into the script", () => {
  const script = proofScript({ ...subjectFor("2026.7.1"), unit: "a'b; reboot" }, { chat: true });
  expect(script).toContain("unit='a'\\''b; reboot'");
});

describe("causes", () => {
  const subject = {
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
    subject,
    see({ about: "", no: ["listen", "holder", "health", "none", "wrong", "own"], expect: {} }, []),
  );

  it("are read from any line, the first of the manifest before the others", () => {
    const words = ["Port 8642 already in use", "WARNING: x", "bye"];
    const port = withCause(subject, stopped, words).find(({ id }) => id === "port");
    expect(port).toMatchObject({
      reason: "nothing listens on port 8642; the port is taken",
      fix: "clm agent configure ada --port auto",
    });
  });

  it("explain only the proofs they name", () => {
    const [taken] = subject.manifest.causes;
    const narrow = {
      ...subject,
      manifest: { ...manifest, causes: [{ ...taken, proofs: ["chat" as const] }] },
    } as never;
    const words = ["Port 8642 already in use", "bye"];
    const port = withCause(narrow, stopped, words).find(({ id }) => id === "port");
    expect(port?.reason).toBe("nothing listens on port 8642; it last said: bye");
    expect(finalCause(narrow, words, stopped)).toBe(false);
  });

  it("of Hermes that are about its port or its key say nothing about the model", () => {
    const chat = [{ id: "chat" as const, result: "fail" as const, reason: "no answer", fix: "x" }];
    const words = ["Refusing to start the API server", "401 Unauthorized"];
    expect(withCause(subjectFor("2026.7.1"), chat, words)[0]?.reason).toBe("no answer; the provider refuses the key");
    const port = withCause(subjectFor("2026.7.1"), stopped, words).find(({ id }) => id === "port");
    expect(port?.reason).toContain("does not take its API key");
  });

  it("of Hermes lead nowhere that only looks again", () => {
    for (const { next } of manifest.causes) expect(next ?? "").not.toContain("--stage validate");
  });

  it("without one, the last thing it said is told", () => {
    const port = withCause(subject, stopped, ["hello", "bye", ""]).find(({ id }) => id === "port");
    expect(port?.reason).toBe("nothing listens on port 8642; it last said: bye");
  });

  it("that somebody stopped it needs no last word", () => {
    const words = [
      "bye",
      "Stopped hermes-ada.service - Hermes Agent ada.",
      "hermes-ada.service: Consumed 1.2s CPU time.",
    ];
    expect(withCause(subject, stopped, words)).toEqual(stopped);
  });

  it("are not looked for where the reason is known", () => {
    const open = judge(subject, see({ about: "", expect: {} }, ["none=200"]));
    expect(withCause(subject, open, ["Port 8642 already in use"])).toEqual(open);
  });
});
