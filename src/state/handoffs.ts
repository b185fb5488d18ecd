import type { LockOptions } from "./lock.js";
import { nullable, number, object, oneOf, optional, record, type TypeOf, text, whole } from "./shape.js";
import { jsonStore, type Store } from "./store.js";

const handoff = object({
  /** Also the id of the session on the target. */
  id: text,
  from: object({ host: text, agent: text, session: text }),
  to: object({ host: text, agent: text }),
  /** A digest of everything that was asked for: the same command again gives the same one. */
  asked: text,
  /** The note that is planted for the proof. */
  planted: text,
  /** Until it is `proven` nothing of it may stay on the target; then it only has to be finished. */
  stage: oneOf("begun", "seeded", "proven"),
  /** Of what moves. Known when it is seeded. */
  moved: optional(object({ hash: text, messages: whole(0, 2 ** 40), calls: whole(0, 2 ** 40) })),
  /** The source is to be closed, if this is still its last message. */
  close: optional(object({ last: nullable(number) })),
  /** The gateway key in whose name it is done. */
  as: optional(text),
  at: text,
});

/** A session that was taken away from a target. A turn of it that nobody hears any more may still write it down again. */
const removed = object({ to: object({ host: text, agent: text }), at: text });

const handoffs = object({ handoffs: record(handoff), removed: optional(record(removed)) });

/** A handoff that is under way, or was cut short. */
export type Handoff = TypeOf<typeof handoff>;
export type Handoffs = TypeOf<typeof handoffs>;

/** `handoffs.json`: handoffs that are not at their end. What was said is not in it. */
export interface OpenHandoffs {
  all(): Handoff[];
  put(handoff: Handoff): Promise<void>;
  drop(id: string): Promise<void>;
  /** Its session, or one that was made for it, is not on the target any more. The handoff itself is dropped with it. */
  remove(id: string, to: Handoff["to"], at: Date): Promise<void>;
  /** What was removed from a target, and is looked for again by who hands something to it. */
  removed(to: Handoff["to"]): string[];
  /** They were looked for again. Those that nothing can write any more are not remembered any longer. */
  swept(ids: readonly string[], at: Date): Promise<void>;
}

/** Milliseconds that a turn may go on for when nobody hears it any more. */
const maxTurnMs = 15 * 60_000;

export function openHandoffs(dir: string, lock: LockOptions = {}): OpenHandoffs {
  const store: Store<Handoffs> = jsonStore<Handoffs>({
    ...{ dir, file: "handoffs.json", version: 1, shape: handoffs, empty: () => ({ handoffs: {} }), lock },
  });
  return {
    all: () => Object.values(store.read().handoffs),
    async put(handoff) {
      await store.update(({ handoffs, ...rest }) => ({ ...rest, handoffs: { ...handoffs, [handoff.id]: handoff } }));
    },
    async drop(id) {
      if (!Object.hasOwn(store.read().handoffs, id)) return;
      await store.update(({ handoffs: { [id]: _, ...others }, ...rest }) => ({ ...rest, handoffs: others }));
    },
    async remove(id, { host, agent }, at) {
      const entry = { to: { host, agent }, at: at.toISOString() };
      await store.update(({ handoffs: { [id]: _, ...others }, removed, ...rest }) => ({
        ...rest,
        handoffs: others,
        removed: { ...removed, [id]: entry },
      }));
    },
    removed: ({ host, agent }) =>
      Object.entries(store.read().removed ?? {}).flatMap(([id, { to }]) =>
        to.host === host && to.agent === agent ? id : [],
      ),
    async swept(ids, at) {
      const isOver = ([id, entry]: [string, { at: string }]) =>
        ids.includes(id) && at.getTime() - Date.parse(entry.at) > maxTurnMs;
      if (!Object.entries(store.read().removed ?? {}).some(isOver)) return;
      await store.update(({ removed = {}, ...rest }) => ({
        ...rest,
        removed: Object.fromEntries(Object.entries(removed).filter((each) => !isOver(each))),
      }));
    },
  };
}
