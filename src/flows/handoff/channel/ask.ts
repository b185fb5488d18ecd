import { type ChannelRequest, channelAsking, type Said } from "../../../agents/handoff/channel/request.js";
import { Fault } from "../../../errors.js";
import { askStateDb } from "../../agent/state-db.js";
import type { Target } from "../../agent/target.js";
import type { Session } from "../../session.js";

// What connecting, Python and a database in use may take beyond the wait itself.
const spareSeconds = 60;

/** Asks an agent to let a session go on in a channel. Who stops waiting still hears what became of it. */
export async function* askForChannel(
  session: Session,
  { agent, subject }: Target,
  request: ChannelRequest,
): AsyncGenerator<Said> {
  session.signal.throwIfAborted();
  const { name, host, word } = agent;
  const seconds = Math.ceil(request.verb === "hand" ? request.wait : 0) + spareSeconds;
  const way = { verb: "handed over", seconds, signal: session.signal, staying: true };
  const errand = channelAsking(request, subject.places);
  for await (const said of askStateDb<Said>(session, { agent, subject }, errand, way)) {
    if (said.absent) throw new Fault("not-found", `${name} has no session yet`, { next: `clm chat ${word}` });
    if (said.fault) {
      throw new Fault("remote-failed", `the sessions of ${name} cannot be changed on ${host.name}`, {
        why: [said.why ?? said.fault, subject.places.data],
        next: `clm agent doctor ${word}`,
      });
    }
    yield said;
  }
}
