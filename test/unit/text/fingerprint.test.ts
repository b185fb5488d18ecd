import { expect, it } from "vitest";
import { fingerprint } from "../../../src/text/fingerprint.js";

it("prints a key's fingerprint as ssh-keygen -l does", () => {
  const blob = Buffer.from("AAAAC3NzaC1lZDI1NTE5AAAAIPuuLFDAiiqNvzIGJqhTk0aV+Hfej/QhCZ+kfr3Hryq3", "base64");
  expect(fingerprint(blob)).toBe("SHA256:pj9Bg+/dLiNgLLeifknL1upB1tEBE+DTQOVRa0lXX9U");
});
