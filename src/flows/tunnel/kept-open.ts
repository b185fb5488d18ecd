import { setTimeout as sleep } from "node:timers/promises";
import { asFault, type Fault, type FaultName } from "../../errors.js";
import { crossing } from "./crossing.js";
import { listening, type Wanted } from "./listening.js";
import type { Way } from "./way.js";

export type Happening =
  | { event: "open"; port: number }
  | { event: "lost"; why: Fault }
  /** Still lost, now for another reason. */
  | { event: "waiting"; why: Fault }
  | { event: "back"; port: number }
  | { event: "closed" };

interface Pauses {
  first: number;
  longest: number;
}

// Milliseconds. What lasted longer was no failure of the way itself.
const brief = 10_000;

export interface Keeping {
  wanted: Wanted;
  /** Finds a way, and looks where it leads. */
  find: () => Promise<Way>;
  tell: (happening: Happening) => void;
  signal: AbortSignal;
  /** Milliseconds between two tries to find another way. */
  pauses?: Pauses;
  /** Milliseconds somebody who connects waits while there is no way. */
  patience?: number;
}

/** What may be over soon. Anything else ends the tunnel: a host with another key is not the one it led to. */
const passing: readonly FaultName[] = [
  "unreachable",
  "connection-lost",
  "remote-failed",
  "remote-timeout",
  "check-failed",
  "not-ready",
];

/**
 * A port here that leads to a port of a host until somebody says stop. When the way is lost another is found, with growing
 * pauses, and nobody is sent along one that was not looked at.
 */
export async function keptOpen(keeping: Keeping): Promise<void> {
  const { wanted, find, tell, signal, patience = 5000, pauses = { first: 500, longest: 15_000 } } = keeping;
  const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  const over = crossing(patience);
  const here = await listening(wanted, (socket) => void over.take(socket));
  let way: Way | undefined;
  let opened = false;
  try {
    way = await find();
    over.use(way);
    tell({ event: "open", port: here.port });
    opened = true;
    for (let briefly = 0; !signal.aborted; ) {
      const since = Date.now();
      const why = await Promise.race([way.ended, over.doubted(), stopped]);
      if (signal.aborted) break;
      over.use(undefined);
      await way.close();
      way = undefined;
      // What is lost as soon as it is found, a dashboard that cannot live say, is not started over and over.
      briefly = Date.now() - since < brief ? briefly + 1 : 0;
      const pause = briefly > 1 ? Math.min(pauses.first * 2 ** (briefly - 2), pauses.longest) : 0;
      way = await findAgain({ ...keeping, pauses }, { port: here.port, why: why ?? undefined, pause });
      over.use(way);
    }
  } catch (error) {
    // Once it is open, to stop it is how it ends.
    if (!opened || !signal.aborted) throw error;
  } finally {
    over.use(undefined);
    await here.close();
    await way?.close();
    if (opened) tell({ event: "closed" });
  }
}

interface Loss {
  /** Here. */
  port: number;
  why: Fault | undefined;
  /** Milliseconds before the first try. */
  pause: number;
}

/** One that let somebody down and is in order after all was never lost to anybody. */
async function findAgain({ find, tell, signal, pauses }: Keeping & { pauses: Pauses }, loss: Loss): Promise<Way> {
  let told = loss.why?.message;
  if (loss.why) tell({ event: "lost", why: loss.why });
  for (let { pause } = loss; ; pause = longer(pause, pauses)) {
    if (pause > 0) await sleep(pause, undefined, { signal });
    try {
      const way = await find();
      if (told !== undefined) tell({ event: "back", port: loss.port });
      return way;
    } catch (error) {
      signal.throwIfAborted();
      const fault = asFault(error);
      if (!passing.includes(fault.fault)) throw fault;
      if (fault.message !== told) tell({ event: told === undefined ? "lost" : "waiting", why: fault });
      told = fault.message;
    }
  }
}

const longer = (pause: number, { first, longest }: Pauses): number => Math.min(Math.max(pause * 2, first), longest);
