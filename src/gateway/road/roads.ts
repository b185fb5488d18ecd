import type { Place } from "../parts.js";
import { Breaker } from "./breaker.js";
import { Road, type RoadOptions } from "./road.js";

// Milliseconds. An agent's own server closes a connection after 75 s of silence: ours is closed before that can meet a request.
const idle = 30_000;

/** How the roads of a fleet are found. */
export type Finding = Pick<RoadOptions, "isFresh" | "most" | "patience"> & {
  find(place: Place, stop: AbortSignal): ReturnType<RoadOptions["find"]>;
  /** Told whenever it was tried to reach a host. */
  tried?(host: string, trouble: unknown): void;
};

export interface Roads {
  to(place: Place): Road;
  close(): void;
}

/** One road to each agent and each proxy, made when it is first asked for. */
export function openRoads({ find, tried, ...options }: Finding): Roads {
  const roads = new Map<string, Road>();
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
      const { host, name, proxy } = place;
      const key = `${host}/${name}${proxy ? "/proxy" : ""}`;
      const known = roads.get(key);
      if (known) return known;
      const road = new Road({
        ...options,
        title: `${name} on ${host}`,
        host: breakerOf(host),
        find: (stop) => find({ host, name, proxy }, stop),
        tried: (trouble) => tried?.(host, trouble),
      });
      roads.set(key, road);
      return road;
    },
    close() {
      clearInterval(sweep);
      for (const road of roads.values()) road.close();
    },
  };
}
