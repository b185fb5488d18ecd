import type { Place } from "../parts.js";
import { Breaker } from "./breaker.js";
import { Road, type RoadOptions } from "./road.js";

// Milliseconds. An agent's own server closes a connection after 75 s of silence: ours is closed before that can meet a request.
const idle = 30_000;

/** How the roads of a fleet are found. */
export type Finding = Pick<RoadOptions, "most" | "patience"> & {
  find(place: Place, stop: AbortSignal): ReturnType<RoadOptions["find"]>;
  /** Told whenever it was tried to reach a host. */
  tried?(host: string, trouble: unknown): void;
};

export interface Roads {
  /** The road to a place; made anew when the place has another mark than it had. */
  to(place: Place): Road;
  /** How many connections are open to each host that was asked for. */
  open(): Iterable<readonly [host: string, count: number]>;
  close(): void;
}

/** One road to each agent and each proxy, made when it is first asked for. */
export function openRoads({ find, tried, ...options }: Finding): Roads {
  const roads = new Map<string, Road>();
  const marks = new Map<string, string | undefined>();
  const byHost = new Map<string, Road[]>();
  const hosts = new Map<string, Breaker>();
  const breakerOf = (host: string) => {
    const breaker = hosts.get(host) ?? new Breaker();
    hosts.set(host, breaker);
    return breaker;
  };
  const sweep = setInterval(() => {
    for (const road of roads.values()) road.closeIdle(Date.now() - idle);
  }, idle / 6).unref();

  return {
    to(place) {
      const { host, name, proxy, mark } = place;
      const key = `${host}/${name}${proxy ? "/proxy" : ""}`;
      const known = roads.get(key);
      if (known && marks.get(key) !== mark) known.renew();
      marks.set(key, mark);
      if (known) return known;
      const road = new Road({
        ...options,
        title: `${name} on ${host}`,
        host: breakerOf(host),
        find: (stop) => find({ host, name, proxy }, stop),
        tried: (trouble) => tried?.(host, trouble),
      });
      roads.set(key, road);
      byHost.set(host, [...(byHost.get(host) ?? []), road]);
      return road;
    },
    open: () => [...byHost].map(([host, roads]) => [host, roads.reduce((sum, { open }) => sum + open, 0)] as const),
    close() {
      clearInterval(sweep);
      for (const road of roads.values()) road.close();
    },
  };
}
