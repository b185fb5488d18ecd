import { expect, it } from "vitest";
import { fingerprintOf } from "../../../src/lab/root.js";

it("prints a key's fingerprint as ssh-keygen -l does", () => {
  expect(fingerprintOf("AAAAC3NzaC1lZDI1NTE5AAAAIPuuLFDAiiqNvzIGJqhTk0aV+Hfej/QhCZ+kfr3Hryq3")).toBe(
    "SHA256:pj9Bg+/dLiNgLLeifknL1upB1tEBE+DTQOVRa0lXX9U",
  );
});
