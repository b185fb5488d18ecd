import { chmodSync } from "node:fs";
import { expect, it } from "vitest";
import { redactor } from "../../../../src/flows/gateway/redactor.js";
import { Secret } from "../../../../src/secret.js";
import { scratchDirectories } from "../../state/scratch.js";
import { inSession } from "../in-session.js";

const directory = scratchDirectories();

it("redacts secrets stored while it runs, and the last known ones when they cannot be read", async () => {
  await inSession({ configDir: directory(), yes: true }, async (session) => {
    const { secrets } = session;
    const store = (name: string, value: string) => secrets.set({ provider: "p" }, name, new Secret(value), "");
    await store("FIRST", "planted-one");
    const redact = redactor(session);
    const said = "planted-one and planted-two";
    expect(redact(said)).not.toContain("planted-one");
    expect(redact(said)).toContain("planted-two");
    await store("SECOND", "planted-two");
    expect(redact(said)).not.toMatch(/planted/);
    await store("THIRD", "planted-three");
    chmodSync(secrets.path, 0o644);
    expect(redact(said)).not.toMatch(/planted/);
    chmodSync(secrets.path, 0o600);
    expect(redact("planted-three")).not.toMatch(/planted/);
  });
});
