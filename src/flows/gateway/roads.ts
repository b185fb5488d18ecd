import { asFault, Fault } from "../../errors.js";
import type { Place } from "../../gateway/parts.js";
import { Refusal } from "../../gateway/refusal.js";
import type { Way } from "../../gateway/road/road.js";
import { openRoads, type Roads } from "../../gateway/road/roads.js";
import type { Connection } from "../../remote/connection.js";
import { findAgent } from "../../state/agents.js";
import { openDoor } from "../agent/door.js";
import { openProxyDoor } from "../agent/proxy/door.js";
import type { Session } from "../session.js";

/** What becomes of the way to a host. */
export type HostEvent = { event: "lost"; host: string; why: Fault } | { event: "back"; host: string };

// Milliseconds. As long as a road may take to be found.
const lookTimeout = 5000;

/** The roads to every agent and proxy, over the session's connections. */
export function roadsOf(session: Session, tell: (event: HostEvent) => void): Roads {
  const lost = new Set<string>();
  /** By host, the connection that leads there now. */
  const watched = new Map<string, Connection>();

  function lose(host: string, why: Fault): void {
    if (session.signal.aborted || lost.has(host)) return;
    lost.add(host);
    tell({ event: "lost", host, why });
  }

  async function find(place: Place, stop: AbortSignal): Promise<Way> {
    // Looked up anew: since the last time it may have got another port.
    const agent = findAgent(session.hosts.read(), `${place.host}/${place.name}`);
    const way = place.proxy ? await proxyWay(session, agent, stop) : await ownWay(session, agent, stop);
    const { connection } = way;
    if (watched.get(place.host) !== connection) {
      watched.set(place.host, connection);
      void connection.closed.then(() => {
        // One to where the host was before is of no interest.
        if (watched.get(place.host) === connection) lose(place.host, connection.lost());
      });
    }
    return way;
  }

  return openRoads({
    find,
    tried(host, trouble) {
      if (trouble !== undefined) lose(host, trouble instanceof Refusal ? asTold(trouble, host) : asFault(trouble));
      else if (lost.delete(host)) tell({ event: "back", host });
    },
  });
}

type Found = Way & { connection: Connection };
type Agent = ReturnType<typeof findAgent>;

async function ownWay(session: Session, agent: Agent, stop: AbortSignal): Promise<Found> {
  const { api, connection, key } = await openDoor(session, agent, { stop, lookTimeout });
  return { connection, port: api.port, bearer: key, open: () => api.open() };
}

async function proxyWay(session: Session, agent: Agent, stop: AbortSignal): Promise<Found> {
  const { api, connection } = await openProxyDoor(session, agent, { stop, lookTimeout });
  return { connection, port: api.port, open: () => api.open() };
}

const asTold = ({ message }: Refusal, host: string): Fault =>
  new Fault("unreachable", message, { next: `clm host check ${host}` });
