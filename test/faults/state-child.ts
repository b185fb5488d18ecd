// The other process in the tests of state: `state-child MODE DIRECTORY …`, one line of output per action.
import { closeSync, openSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { asFault } from "../../src/errors.js";
import { hostNameFrom } from "../../src/names.js";
import { Secret } from "../../src/secret.js";
import { beginAudit, endAudit } from "../../src/state/audit/write.js";
import { type Fleet, type Host, hostStore } from "../../src/state/hosts.js";
import { withLock } from "../../src/state/lock.js";
import { openSecrets } from "../../src/state/secrets.js";

const [mode = "", dir = "", ...rest] = process.argv.slice(2);
const say = (line: string) => writeSync(1, `${line}\n`);
// The wait is shorter than the expiry: whoever gets the lock did not wait for the expiry.
const lock = { what: `child ${mode}`, wait: 60_000, expiry: 300_000 };

const name = hostNameFrom("shared");
const host: Host = { name, address: "192.0.2.1", labels: {}, added_at: "", sudo: "none", agents: {} };

const counted =
  (key: string) =>
  (file: Fleet): Fleet => {
    const [{ labels, ...others } = host] = file.hosts;
    const next = (name: string) => String(Number(labels[name] ?? 0) + 1);
    return { ...file, hosts: [{ ...others, labels: { ...labels, [key]: next(key), total: next("total") } }] };
  };

const modes: Record<string, () => Promise<void>> = {
  /** Counts to N in the shared host's labels. */
  async count() {
    const [key = "", times = ""] = rest;
    for (let n = 0; n < Number(times); n++) await hostStore(dir, lock).update(counted(key));
    say("done");
  },

  /** Writes every kind of state forever, and prints what is stored safely. */
  async churn() {
    for (let n = 1; ; n++) {
      const action = await beginAudit(dir, { verb: "churn", target: "shared", argv: [] });
      const { hosts } = await hostStore(dir, lock).update(counted("churn"));
      say(`hosts ${hosts[0]?.labels.churn}`);
      await openSecrets(dir, lock).set({ provider: "p" }, "KEY", new Secret(`${n}-${process.pid}`), "");
      await endAudit(dir, action, { result: "ok" });
    }
  },

  async hold() {
    await withLock(dir, "hosts", lock, async () => {
      say("held");
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    });
  },

  /** Suspends itself in the middle of an update, as by Ctrl-Z. */
  async stop() {
    await hostStore(dir, lock).update((file) => {
      say("inside");
      process.kill(process.pid, "SIGSTOP");
      return counted("stopped")(file);
    });
    say("written");
  },

  /** Takes the lock repeatedly, and reports when another process had it too. */
  async enter() {
    const marker = join(dir, "inside");
    for (let n = 0; n < Number(rest[0]); n++) {
      await withLock(dir, "door", lock, async () => {
        closeSync(openSync(marker, "wx"));
        if (n % 3 === 0) await new Promise((resolve) => setTimeout(resolve, Math.random() * 2));
        unlinkSync(marker);
      });
    }
    say("done");
  },
};

try {
  await modes[mode]?.();
} catch (error) {
  const { fault, message, why, next } = asFault(error);
  say(`fault ${JSON.stringify({ fault, message, why, next })}`);
}
