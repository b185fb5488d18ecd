import { type ChannelRequest, channelAsking, type Said } from "../../../agents/hermes/handoff/channel/request.js";
import { Fault } from "../../../errors.js";
import { askStateDb } from "../../agent/run-host-program.js";
import type { Target } from "../../agent/target.js";
import type { Session } from "../../session.js";

// What connecting, Python and a database in use may take beyond the wait itself.
const spareSeconds = 60;

/** Asks an agent to let a session go on in a channel. Who stops waiting still hears what became of it. */
export async function* askForChannel(
  session: Session,
  { agent, resolved }: Target,
  request: ChannelRequest,
): AsyncGenerator<Said> {
  session.signal.throwIfAborted();
  const { name, host, ref } = agent;
  const seconds = Math.ceil(request.verb === "hand" ? request.wait : 0) + spareSeconds;
  const way = { verb: "handed over", seconds, signal: session.signal, staying: true };
  const errand = channelAsking(request, resolved.paths);
  for await (const said of askStateDb<Said>(session, { agent, resolved }, errand, way)) {
    if (said.absent) throw new Fault("not-found", `${name} has no session yet`, { next: `clm chat ${ref}` });
    if (said.fault) {
      throw new Fault("remote-failed", `the sessions of ${name} cannot be changed on ${host.name}`, {
        why: [said.why ?? said.fault, resolved.paths.data],
        next: `clm agent doctor ${ref}`,
      });
    }
    yield said;
  }
}
