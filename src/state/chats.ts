import { own } from "../text/own-property.js";
import type { LockOptions } from "./lock.js";
import { object, record, text } from "./shape.js";
import { jsonStore } from "./store.js";

const chats = object({
  /** By `HOST/NAME`: the last conversation with that agent. The messages stay with the agent. */
  last: record(object({ session: text, at: text })),
});

export type LastChats = ReturnType<typeof openChats>;

/** `chats.json`: which conversation `clm chat --last` continues. */
export function openChats(dir: string, lock: LockOptions = {}) {
  const store = jsonStore({ dir, file: "chats.json", shape: chats, empty: () => ({ last: {} }), lock });
  const rekey = async (keyFor: (key: string) => string | undefined) => {
    // Nothing to change: do not create the directory or take the lock.
    if (Object.keys(store.read().last).every((key) => keyFor(key) === key)) return;
    await store.update(({ last, ...rest }) => {
      const kept = Object.entries(last).map(([key, entry]) => [keyFor(key), entry] as const);
      return { ...rest, last: Object.fromEntries(kept.filter(([key]) => key !== undefined)) };
    });
  };
  const on = (host: string, key: string) => key.startsWith(`${host}/`);

  return {
    get(host: string, agent: string): string | undefined {
      return own(store.read().last, `${host}/${agent}`)?.session;
    },
    async set(host: string, agent: string, session: string, at: Date): Promise<void> {
      const entry = { session, at: at.toISOString() };
      await store.update(({ last, ...rest }) => ({ ...rest, last: { ...last, [`${host}/${agent}`]: entry } }));
    },
    /** Forgets the session of one agent, or of all agents on a host. */
    forget: (host: string, agent?: string): Promise<void> =>
      rekey((key) => ((agent === undefined ? on(host, key) : key === `${host}/${agent}`) ? undefined : key)),
    renameHost: (from: string, to: string): Promise<void> =>
      rekey((key) => (on(from, key) ? `${to}${key.slice(from.length)}` : key)),
  };
}
