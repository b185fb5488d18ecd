import { afterAll, describe, expect, it } from "vitest";
import { askHost, askHostPartially } from "../../../src/remote/ask-host.js";
import { sharedShell } from "../../../src/remote/shared-shell.js";
import { type LocalShell, localShells } from "./operations/local-shell.js";

const { shells, close } = localShells();
afterAll(close);

describe.each(shells.slice(0, 1))("a script that looks", (shell: LocalShell) => {
  const asking = { host: "wolf-i", what: "its status", timeout: 10_000, signal: new AbortController().signal };
  const read = (text: string) => /^end=(.*)$/m.exec(text)?.[1];

  it("gets its stdin, and its answer is parsed", async () => {
    const script = "IFS= read -r key; exec </dev/null; echo end=$key\n";
    expect(await askHost(shell, script, { ...asking, stdin: "k\n" }, read)).toBe("k");
  });

  it("that breaks off is a fault with its stderr", async () => {
    const script = "echo a=1; for line in 1 2 3 4; do echo $line >&2; done; exit 3\n";
    await expect(askHost(shell, script, asking, read)).rejects.toMatchObject({
      fault: "remote-failed",
      message: "wolf-i could not report its status",
      why: ["2 3 4"],
      next: ["clm host check wolf-i"],
    });
    await expect(askHost(shell, "exit 3\n", asking, read)).rejects.toMatchObject({ why: ["its script ended with 3"] });
  });

  it("that times out gives its output so far", async () => {
    const script = "echo 0 end=yes; exec sleep 60\n";
    const { text, fault } = await askHostPartially(await sharedShell(shell), script, { ...asking, timeout: 2000 });
    expect([text, fault.fault]).toEqual(["0 end=yes\n", "remote-timeout"]);
    await expect(
      askHost(await sharedShell(shell), script, { ...asking, timeout: 300 }, () => undefined),
    ).rejects.toMatchObject({
      fault: "remote-timeout",
    });
  });

  it("that is aborted is stopped", async () => {
    const signal = AbortSignal.abort(new Error("stop"));
    await expect(askHostPartially(shell, "echo a=1\n", { ...asking, signal })).rejects.toThrow("stop");
  });
});
