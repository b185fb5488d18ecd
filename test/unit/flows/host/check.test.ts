import { describe, expect, it } from "vitest";
import { judge } from "../../../../src/flows/host/check.js";
import type { Facts } from "../../../../src/remote/facts.js";
import { sampleFacts as good } from "../../remote/sample-facts.js";

const check = (id: string, facts: Partial<Facts>) => judge({ ...good, ...facts }).find((each) => each.id === id);

it("a good host passes everything, under ids that never change", () => {
  expect(judge(good).map(({ id, result }) => [id, result])).toEqual(
    ["system.os", "system.arch", "system.systemd", "system.state", "memory", "disk", "clock"].map((id) => [id, "ok"]),
  );
});

describe("checks at their limits", () => {
  it.each<[string, Partial<Facts>, "ok" | "warn" | "fail"]>([
    ["system.os", { os: "debian", os_version: "13" }, "ok"],
    ["system.os", { os: "debian", os_version: "11" }, "warn"],
    ["system.os", { os: "debian", os_version: "" }, "warn"],
    ["system.os", { os: "ubuntu", os_version: "22.04" }, "ok"],
    ["system.os", { os: "ubuntu", os_version: "24.04" }, "ok"],
    ["system.os", { os: "ubuntu", os_version: "23.10" }, "warn"],
    ["system.os", { os: "ubuntu", os_version: "12" }, "warn"],
    ["system.os", { os: "fedora", os_version: "41" }, "warn"],
    ["system.os", { os: "", os_version: "", os_name: "" }, "warn"],
    // What every object has is not a system.
    ["system.os", { os: "constructor", os_version: "12" }, "warn"],
    ["system.os", { os: "__proto__", os_version: "12" }, "warn"],
    ["system.arch", { arch: "aarch64" }, "ok"],
    ["system.arch", { arch: "armv7l" }, "fail"],
    ["system.arch", { arch: "i686" }, "fail"],
    ["system.arch", { arch: "" }, "fail"],
    ["system.systemd", { systemd: 249 }, "ok"],
    ["system.systemd", { systemd: 248 }, "fail"],
    ["system.systemd", { systemd: 0 }, "fail"],
    ["system.state", { system_state: "degraded" }, "warn"],
    ["system.state", { system_state: "starting" }, "warn"],
    ["system.state", { system_state: "" }, "warn"],
    ["memory", { memory_free_mb: 512 }, "ok"],
    ["memory", { memory_free_mb: 511 }, "warn"],
    ["memory", { memory_free_mb: 0 }, "warn"],
    ["disk", { disk_free_mb: 4096 }, "ok"],
    ["disk", { disk_free_mb: 4095 }, "warn"],
    ["disk", { disk_free_mb: 200 }, "warn"],
    ["disk", { disk_free_mb: 199 }, "fail"],
    ["disk", { disk_free_mb: 0 }, "fail"],
    ["clock", { clock_ahead: 30 }, "ok"],
    ["clock", { clock_ahead: -30 }, "ok"],
    ["clock", { clock_ahead: 31 }, "warn"],
    ["clock", { clock_ahead: -31 }, "warn"],
    ["clock", { clock_ahead: 300 }, "warn"],
    ["clock", { clock_ahead: -300 }, "warn"],
    ["clock", { clock_ahead: 301 }, "fail"],
    ["clock", { clock_ahead: -301 }, "fail"],
  ])("%s of %j: %s", (id, facts, result) => {
    const found = check(id, facts);
    expect(found).toMatchObject({ id, result, reason: expect.stringMatching(/\S/) });
    // A failed check has a fix, and a passed one has none.
    expect(found?.fix === undefined).toBe(result === "ok");
    expect(JSON.stringify(found)).not.toMatch(/undefined|NaN/);
  });

  it("one problem fails one check", () => {
    const found = judge({ ...good, disk_free_mb: 1 }).filter(({ result }) => result !== "ok");
    expect(found.map(({ id }) => id)).toEqual(["disk"]);
  });
});

describe("the reason has the observed value", () => {
  it.each<[string, Partial<Facts>, string]>([
    ["system.os", {}, "Debian GNU/Linux 12 (bookworm)"],
    ["system.os", { os: "fedora", os_name: "Fedora 41" }, "Fedora 41 is not"],
    ["system.os", { os: "", os_name: "" }, "an unknown system is not"],
    ["system.systemd", { systemd: 247 }, "systemd 247 is too old"],
    ["system.systemd", { systemd: 0 }, "there is no systemd"],
    ["system.state", { system_state: "degraded" }, "systemd says degraded"],
    ["system.state", { system_state: "" }, "systemd says nothing"],
    ["memory", { memory_mb: 1000, memory_free_mb: 100 }, "100 MB free of 1000 MB"],
    ["disk", { disk_free_mb: 150 }, "150 MB free for /home"],
    ["clock", { clock_ahead: 2 }, "agrees with ours"],
    ["clock", { clock_ahead: 3 }, "3 s ahead of ours"],
    ["clock", { clock_ahead: -3 }, "3 s behind ours"],
    ["clock", { clock_ahead: -4000 }, "4000 s behind ours"],
  ])("%s of %j: %s", (id, facts, reason) => expect(check(id, facts)?.reason).toContain(reason));
});
