import { expect, it } from "vitest";
import { CleanupStack } from "../../../../src/flows/gateway/cleanup-stack.js";

it("closes all in reverse order, and then reports the first failure", async () => {
  const closed: string[] = [];
  const opened = new CleanupStack();
  opened.add(() => closed.push("log"));
  opened.add(async () => {
    throw new Error("second");
  });
  opened.add(() => {
    closed.push("server");
    throw new Error("first");
  });
  await expect(opened.all()).rejects.toThrow("first");
  expect(closed).toEqual(["server", "log"]);
  await opened.all();
});
