import { describe, expect, it } from "vitest";
import { Fault } from "../../src/errors.js";

const fault = new Fault("remote-failed", "it failed", { why: "no room", next: "clm ps", data: { code: 1 } });

describe("Fault.with", () => {
  it("replaces the given fields and keeps the rest", () => {
    const copy = fault.with({ next: ["clm a", "clm b"] });
    expect(copy).toMatchObject({ fault: "remote-failed", message: "it failed", why: ["no room"], data: { code: 1 } });
    expect(copy.next).toEqual(["clm a", "clm b"]);
    expect(copy.cause).toBe(fault);
    expect(fault.with({ message: "it broke", why: [], data: {} })).toMatchObject({
      message: "it broke",
      why: [],
      next: ["clm ps"],
      data: {},
    });
  });

  it("leaves the fault itself alone", () => {
    fault.with({ why: "another" });
    expect(fault.why).toEqual(["no room"]);
  });
});
