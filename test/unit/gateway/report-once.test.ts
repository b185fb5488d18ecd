import { expect, it } from "vitest";
import { reportOnce } from "../../../src/gateway/report-once.js";
import { Refusal } from "../../../src/gateway/request/refusal.js";

it("reports a lasting refusal once, and everything else each time", () => {
  let now = 0;
  const told: unknown[] = [];
  const tell = reportOnce(
    (error) => told.push(error),
    () => now,
  );
  const disk = new Refusal(503, "nonces_unavailable", "no", { cause: new Error("ENOSPC") });
  const keys = new Refusal(503, "keys_unavailable", "no", { cause: new Error("EACCES") });
  const other = new Error("what is this");
  for (const [at, error] of [
    [0, disk],
    [50, disk],
    [55, keys],
    [100, disk],
    [100, other],
    [101, other],
    [161, disk],
  ] as const) {
    now = at * 1000;
    tell(error);
  }
  expect(told).toEqual([disk, keys, other, other, disk]);
});
