import { describe, expect, it } from "vitest";
import { asFault, Fault } from "../../../src/errors.js";
import { Secret } from "../../../src/secret.js";
import { faultData, faultText } from "../../../src/ui/errors.js";
import { serializerFor } from "../../../src/ui/format.js";
import { createPaint } from "../../../src/ui/paint.js";

const plainly = { paint: createPaint(false), debug: false };
const fault = new Fault("host-key-changed", "wolf-i shows another key", {
  why: ["pinned SHA256:a", "shown  SHA256:b\nand more"],
  next: ["clm host trust wolf-i", "clm host remove wolf-i"],
  data: { host: "wolf-i" },
});

describe("a fault", () => {
  it("prints what happened, why, and the next command", () => {
    expect(faultText(fault, plainly)).toBe(`error: wolf-i shows another key [CLM-4002]
  pinned SHA256:a
  shown  SHA256:b
  and more
  next: clm host trust wolf-i
  next: clm host remove wolf-i`);
  });

  it("is JSON for programs", () => {
    expect(faultData(fault, false)).toEqual({
      error: {
        code: "CLM-4002",
        fault: "host-key-changed",
        who: "trust",
        exit: 12,
        message: "wolf-i shows another key",
        why: fault.why,
        next: fault.next,
        data: { host: "wolf-i" },
      },
    });
  });

  it("shows where it came from only when asked", () => {
    const bug = asFault(new TypeError("x is not a function", { cause: new Error("deeper") }));
    expect(faultText(bug, plainly)).not.toContain("errors.test.ts");
    const told = faultText(bug, { ...plainly, debug: true });
    expect(told).toContain("errors.test.ts");
    expect(told).toMatch(/caused by\nTypeError: x is not a function[\s\S]*caused by\nError: deeper/);
    expect(JSON.stringify(faultData(bug, true))).toContain('"stack"');
  });

  it("removes control sequences from a host's output", () => {
    const evil = new Fault("remote-failed", "a\u001b[2Jb", {
      why: "c\u0007\u001b]0;t\u0007d",
      next: "clm e\u001b[1mf",
    });
    expect(faultText(evil, plainly)).toBe("error: ab [CLM-3001]\n  cd\n  next: clm ef");
  });
});

describe("formats for programs", () => {
  const value = {
    name: "wolf-i",
    added_at: "2026-01-01T00:00:00Z",
    agents: {},
    key: new Secret("x"),
    long: "w ".repeat(80),
  };

  it("JSON with two spaces", async () => {
    expect((await serializerFor("json"))({ a: [1] })).toBe('{\n  "a": [\n    1\n  ]\n}\n');
    expect((await serializerFor("json"))(undefined)).toBe("null\n");
    expect((await serializerFor("json"))(value)).toContain('"key": "[secret]"');
  });

  it("YAML that reads back as the same, on lines of any length", async () => {
    const text = (await serializerFor("yaml"))(value);
    const { parse } = await import("yaml");
    expect(parse(text)).toEqual({ ...value, key: "[secret]" });
    expect(text.split("\n")).toHaveLength(6);
  });
});
