import type { LockOptions } from "./lock.js";
import { nullable, number, object, oneOf, optional, record, type TypeOf, text, whole } from "./shape.js";
import { jsonStore } from "./store.js";

const handoff = object({
  /** Also the id of the session on the target. */
  id: text,
  from: object({ host: text, agent: text, session: text }),
  to: object({ host: text, agent: text }),
  /** A digest of the request: the same command gives the same one. */
  asked: text,
  /** The note added for the proof. */
  planted: text,
  /** Before `proven` it is removed from the target when cleaned up; after, it only has to be finished. */
  stage: oneOf("begun", "seeded", "proven"),
  /** Digest of the transcript, once it is seeded. */
  moved: optional(object({ hash: text, messages: whole(0, 2 ** 40), calls: whole(0, 2 ** 40) })),
  /** Close the source, if this is still its last message. */
  close: optional(object({ last: nullable(number) })),
  /** The gateway key it is done for. */
  as: optional(text),
  at: text,
});

/** A session removed from a target. A turn that is still running there may write it again. */
const removed = object({ to: object({ host: text, agent: text }), at: text });
const handoffs = object({ handoffs: record(handoff), removed: optional(record(removed)) });

/** A handoff in progress, or one that was interrupted. */
export type Handoff = TypeOf<typeof handoff>;

/** Milliseconds a turn may run on after its connection ended. */
const maxTurnMs = 15 * 60_000;

/** `handoffs.json`: unfinished handoffs, without their messages. */
export function openHandoffs(dir: string, lock: LockOptions = {}) {
  const store = jsonStore({ dir, file: "handoffs.json", shape: handoffs, empty: () => ({ handoffs: {} }), lock });
  return {
    all: (): Handoff[] => Object.values(store.read().handoffs),
    async put(handoff: Handoff): Promise<void> {
      await store.update(({ handoffs, ...rest }) => ({ ...rest, handoffs: { ...handoffs, [handoff.id]: handoff } }));
    },
    async drop(id: string): Promise<void> {
      if (!Object.hasOwn(store.read().handoffs, id)) return;
      await store.update(({ handoffs: { [id]: _, ...others }, ...rest }) => ({ ...rest, handoffs: others }));
    },
    /** Its session, or one made for it, was removed from the target. Drops the handoff too. */
    async remove(id: string, { host, agent }: Handoff["to"], at: Date): Promise<void> {
      const entry = { to: { host, agent }, at: at.toISOString() };
      await store.update(({ handoffs: { [id]: _, ...others }, removed, ...rest }) => ({
        ...rest,
        handoffs: others,
        removed: { ...removed, [id]: entry },
      }));
    },
    /** Sessions removed from a target; the next handoff to it checks for them again. */
    removed: ({ host, agent }: Handoff["to"]): string[] =>
      Object.entries(store.read().removed ?? {}).flatMap(([id, { to }]) =>
        to.host === host && to.agent === agent ? id : [],
      ),
    /** Drops those of the removed sessions, now checked again, that no turn can write any more. */
    async swept(ids: readonly string[], at: Date): Promise<void> {
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
