import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { Fault } from "../../../../src/errors.js";
import { Talk } from "../../../../src/flows/chat/talk.js";
import type { Session } from "../../../../src/flows/session.js";
import { hostNameFrom } from "../../../../src/names.js";
import { Secret } from "../../../../src/secret.js";
import type { Host } from "../../../../src/state/hosts.js";
import { sampleAgent } from "../../state/sample-agent.js";
import { scratchDirectories } from "../../state/scratch.js";
import { inSession } from "../in-session.js";

const scratch = scratchDirectories();

/** A session with one agent, ada on wolf. */
async function withAda<T>(work: (session: Session) => Promise<T>): Promise<T> {
  const dir = join(scratch(), "config");
  const agents = { ada: sampleAgent("ada") };
  const name = hostNameFrom("wolf");
  const wolf: Host = { name, address: "192.0.2.1", labels: {}, added_at: "2026", sudo: "root", agents };
  const { result } = await inSession({ configDir: dir }, async (session) => {
    await session.hosts.update((fleet) => ({ ...fleet, hosts: [wolf] }));
    const instance = { host: "wolf", type: "hermes", agent: "ada" } as const;
    await session.secrets.set(instance, "HERMES_API_SERVER_KEY", new Secret("0".repeat(64)), "");
    return work(session);
  });
  return result;
}

it("stopping an answer does not wait for a silent host, and the next message reconnects", async () => {
  await withAda(async (session) => {
    const connect = vi.fn(() => new Promise<never>(() => {}));
    const talk = new Talk({ ...session, pool: { connect, close() {} } }, "ada", { which: "new" });
    for (const times of [1, 2]) {
      const stop = new AbortController();
      const said = talk.say("hello", { onPiece: () => {}, signal: stop.signal });
      await vi.waitFor(() => expect(connect).toHaveBeenCalledTimes(times));
      const stopped = new Fault("interrupted", "the answer was stopped");
      stop.abort(stopped);
      await expect(said).rejects.toBe(stopped);
    }
  });
});
