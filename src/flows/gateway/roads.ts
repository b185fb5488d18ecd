import { asFault, Fault } from "../../errors.js";
import type { Place } from "../../gateway/parts.js";
import { Refusal } from "../../gateway/refusal.js";
import type { Way } from "../../gateway/road/road.js";
import { openRoads, type Roads } from "../../gateway/road/roads.js";
import type { Connection } from "../../remote/connection.js";
import { findAgent } from "../../state/agents.js";
import { isFresh, openDoor } from "../agent/door.js";
import { openProxyDoor } from "../agent/proxy/door.js";
import type { Session } from "../session.js";

/** What becomes of the way to a host. */
export type HostEvent = { event: "lost"; host: string; why: Fault } | { event: "back"; host: string };

/** The roads to every agent and proxy, over the session's connections. Each is looked at before anything is sent along it. */
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
    isFresh,
    tried(host, trouble) {
      if (trouble !== undefined) lose(host, trouble instanceof Refusal ? asTold(trouble, host) : asFault(trouble));
      else if (lost.delete(host)) tell({ event: "back", host });
    },
  });
}

type Found = Way & { connection: Connection };
type Agent = ReturnType<typeof findAgent>;

async function ownWay(session: Session, agent: Agent, stop: AbortSignal): Promise<Found> {
  const { connection, subject, key } = await openDoor(session, agent, stop);
  return { connection, port: subject.port, bearer: key, at: Date.now() };
}

async function proxyWay(session: Session, agent: Agent, stop: AbortSignal): Promise<Found> {
  const { connection, port } = await openProxyDoor(session, agent, stop);
  return { connection, port, at: Date.now() };
}

const asTold = ({ message }: Refusal, host: string): Fault =>
  new Fault("unreachable", message, { next: `clm host check ${host}` });
