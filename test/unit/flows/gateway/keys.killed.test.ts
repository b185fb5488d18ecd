import { describe, expect, it } from "vitest";
import { createKey } from "../../../../src/flows/gateway/keys/create.js";
import { revokeKey } from "../../../../src/flows/gateway/keys/revoke.js";
import { rotateGatewayKey } from "../../../../src/flows/gateway/keys/rotate.js";
import type { Session } from "../../../../src/flows/session.js";
import { Keyring } from "../../../../src/gateway/keys/keyring.js";
import { signerOf } from "../../../../src/gateway/signing/sign.js";
import { gatewayKeyStore } from "../../../../src/state/gateway-keys.js";
import { openSecrets } from "../../../../src/state/secrets.js";
import { scratchDirectories } from "../../state/scratch.js";
import { inSession } from "../in-session.js";

const directory = scratchDirectories();
const now = () => new Date("2026-01-01T00:00:00Z");
const ringOf = (dir: string) => new Keyring(dir, openSecrets(dir), now);
const recordsOf = (dir: string) => Object.values(gatewayKeyStore(dir).read().keys);

class Killed extends Error {}

/** The session, killed at a change of secrets.json: before it is written, or right after. */
function killedAt(session: Session, change: number, when: "before" | "after"): Session {
  let left = change;
  const dying =
    <A extends unknown[]>(work: (...args: A) => Promise<void>) =>
    async (...args: A) => {
      const isNow = left-- === 0;
      if (isNow && when === "before") throw new Killed();
      await work(...args);
      if (isNow) throw new Killed();
    };
  const { secrets } = session;
  return { ...session, secrets: { ...secrets, set: dying(secrets.set), unset: dying(secrets.unset) } };
}

const wish = { name: "codex", agents: ["*"], role: "chat" as const, signed: true };

/** Does the work, killed or not, and gives the signing secrets of the keys that were handed out. */
async function did(dir: string, work: (session: Session, told: (secret: string) => void) => Promise<unknown>) {
  const told: string[] = [];
  await inSession({ configDir: dir, yes: true, now }, (session) =>
    work(session, (secret) => told.push(secret)).catch((error) => {
      if (!(error instanceof Killed)) throw error;
    }),
  );
  return told;
}

const create = (dir: string, wrap = (session: Session) => session) =>
  did(dir, (session, told) => createKey(wrap(session), wish, (_, key) => told(signerOf(key)?.secret.reveal() ?? "")));
const rotate = (dir: string, grace: number | undefined, wrap = (session: Session) => session) =>
  did(dir, (session, told) =>
    rotateGatewayKey(wrap(session), "codex", { grace }, (_, key) => told(signerOf(key)?.secret.reveal() ?? "")),
  );
const revoke = (dir: string, wrap = (session: Session) => session) =>
  did(dir, (session) => revokeKey(wrap(session), "codex"));

/** What opens: the signing secrets of the key. */
function open(dir: string): string[] {
  return recordsOf(dir).flatMap(({ id }) => {
    const found = ringOf(dir).signed(id);
    if (!found || found.ended) return [];
    return [found.secret.reveal(), ...(found.former ? [found.former.reveal()] : [])];
  });
}

const keptFor = (dir: string) =>
  openSecrets(dir)
    .instances()
    .flatMap((each) => ("gateway" in each && each.gateway !== "keys" ? openSecrets(dir).names(each) : []));

const kills = [0, 1, 2, 3].flatMap((change) => [
  { change, when: "before" as const },
  { change, when: "after" as const },
]);

describe.each(kills)("killed $when change $change of secrets.json", ({ change, when }) => {
  const dying = (session: Session) => killedAt(session, change, when);

  it("create has made a key that was handed out, or none", async () => {
    const dir = directory();
    const handed = await create(dir, dying);
    expect(open(dir)).toEqual(handed);
    if (handed.length === 0) expect(await create(dir)).toEqual(open(dir));
    expect(keptFor(dir)).toHaveLength(1);
  });

  it("rotate leaves the old secret or the new one, and never neither", async () => {
    const dir = directory();
    const [old = ""] = await create(dir);
    const [next] = await rotate(dir, undefined, dying);
    expect(open(dir)).toEqual([next ?? old]);
    const [last = ""] = await rotate(dir, undefined);
    expect(open(dir)).toEqual([last]);
    expect(keptFor(dir)).toHaveLength(1);
  });

  it("rotate with a grace leaves the old one open in any case", async () => {
    const dir = directory();
    const [old = ""] = await create(dir);
    const [next] = await rotate(dir, 3_600_000, dying);
    expect(open(dir)).toEqual(next ? [next, old] : [old]);
  });

  it("revoke has closed it", async () => {
    const dir = directory();
    await create(dir);
    await revoke(dir, dying);
    expect(open(dir)).toEqual([]);
    expect(keptFor(dir)).toHaveLength(1);
  });
});
