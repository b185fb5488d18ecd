import { afterAll, describe, expect, it } from "vitest";
import { run } from "../../../src/remote/run.js";
import { localShells } from "./operations/local-shell.js";

const { shells, close } = localShells({ wrap: (command) => command });
afterAll(close);

describe.each(shells)("a command under $name", (shell) => {
  it("that ignores its stdin still gives its exit code", async () => {
    // More than a pipe holds, so that the other end is gone before all of it is written.
    const output = await run(shell, "echo no; exit 7", { stdin: "x".repeat(1 << 20) });
    expect(output).toMatchObject({ code: 7, stdout: "no\n" });
  });

  it("is given all of its stdin", async () => {
    const output = await run(shell, "wc -c", { stdin: "x".repeat(1 << 20) });
    expect(output.stdout.trim()).toBe(`${1 << 20}`);
  });
});
