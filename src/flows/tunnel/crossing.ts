import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { joined } from "./joined.js";
import type { Way } from "./way.js";

// Between two tries of one who was not let through: the way is being looked at meanwhile.
const moment = 100;

/** Where those who connect are sent on, by whatever way there is. */
export interface Crossing {
  /** From now on by this way; without one, whoever comes waits. */
  use(way: Way | undefined): void;
  /** Resolves when the way that is used has let somebody down. */
  doubted(): Promise<void>;
  /** Sends somebody on, or cuts them off after a while: nobody hangs. */
  take(socket: Socket): Promise<void>;
}

/** `patience` is how many milliseconds somebody may wait. */
export function crossing(patience: number): Crossing {
  let way: Way | undefined;
  let doubt = () => {};
  const waiting = new Set<() => void>();

  return {
    use(next) {
      way = next;
      if (!next) return;
      for (const wake of waiting) wake();
    },
    doubted: () =>
      new Promise((resolve) => {
        doubt = resolve;
      }),
    async take(socket) {
      let late = false;
      let wake = () => {};
      const timer = setTimeout(() => {
        late = true;
        wake();
      }, patience);
      while (!socket.destroyed && !late) {
        if (!way) {
          await new Promise<void>((resolve) => {
            wake = resolve;
            waiting.add(wake);
          });
          waiting.delete(wake);
          continue;
        }
        const { connection } = way;
        try {
          const there = await way.open();
          clearTimeout(timer);
          if (socket.destroyed) there.destroy();
          else joined(socket, there, () => connection.open);
          return;
        } catch {
          if (way?.connection === connection) doubt();
          await sleep(moment);
        }
      }
      clearTimeout(timer);
      socket.resetAndDestroy();
    },
  };
}
