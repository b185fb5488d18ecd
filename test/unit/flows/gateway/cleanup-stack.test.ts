import { expect, it } from "vitest";
import { cleanupStack } from "../../../../src/flows/gateway/cleanup-stack.js";

it("closes the last opened first, all of them, and then tells what failed first", async () => {
  const closed: string[] = [];
  const opened = cleanupStack();
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
