import type { ChannelReply, ChannelRequest } from "../../../agents/handoff/store.js";
import { capability } from "../../../agents/type.js";
import { Fault } from "../../../errors.js";
import { runHostProgram } from "../../agent/run-host-program.js";
import type { Target } from "../../agent/target.js";
import type { Session } from "../../session.js";

// For connecting, starting Python and a locked database, beyond the wait itself.
const spareSeconds = 60;

/** An interrupted wait still yields the outcome. */
export async function* askForChannel(
  session: Session,
  target: Target,
  request: ChannelRequest,
): AsyncGenerator<ChannelReply> {
  session.signal.throwIfAborted();
  const { manifest, paths } = target.resolved;
  const { name, host, ref } = target.agent;
  const program = (await capability(manifest, "handoff")).toChannel(request, paths);
  const seconds = Math.ceil(request.verb === "hand" ? request.wait : 0) + spareSeconds;
  const options = { verb: "handed over", seconds, signal: session.signal, awaitAnswer: true };
  for await (const reply of runHostProgram<ChannelReply>(session, target, program, options)) {
    if (reply.absent) throw new Fault("not-found", `${name} has no session yet`, { next: `clm chat ${ref}` });
    if (reply.fault) {
      throw new Fault("remote-failed", `the sessions of ${name} cannot be changed on ${host.name}`, {
        why: [reply.why ?? reply.fault, paths.data],
        next: `clm agent doctor ${ref}`,
      });
    }
    yield reply;
  }
}
