import type { LockOptions } from "./lock.js";
import { object, record, type Shaped, text } from "./shape.js";
import { jsonStore, type Store } from "./store.js";

const chats = object({
  /** By `HOST/NAME`: the conversation clm last had with that agent. What was said is with the agent alone. */
  last: record(object({ session: text, at: text })),
});

export type Chats = Shaped<typeof chats>;

/** `chats.json`: which conversation `clm chat --last` goes on with. */
export const chatStore = (dir: string, lock: LockOptions = {}): Store<Chats> =>
  jsonStore<Chats>({ dir, file: "chats.json", version: 1, shape: chats, empty: () => ({ last: {} }), lock });
