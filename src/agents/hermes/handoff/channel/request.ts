import { onStateDb, type Told } from "../../state-db/program.js";
import program from "./program.py?raw";

/** What is asked about a session that is to go on in a channel. */
export type ChannelRequest =
  /** Without a session, the one that was used last but for these and what begins with one of them and a dash. */
  | { verb: "look"; session?: string; without: string[] }
  | { verb: "hand"; session: string; platform: string; reset: boolean; wait: number };

/** How Hermes keeps such a request in the row of its session. */
export interface Standing {
  id: string;
  title: string | null;
  source: string | null;
  messages: number | null;
  state: string | null;
  platform: string | null;
  error: string | null;
}

/** How it ended: as the agent said, or because nobody waited any longer. */
export type Ended =
  | "completed"
  | "failed"
  /** Nobody had begun with it, and it was taken back. */
  | "timed-out"
  | "taken-back"
  /** Somebody has begun with it, and it is not ours to take back. */
  | "stuck"
  | "left-running"
  /** Somebody else asked for it, and it is not ours to take back. */
  | "left-pending"
  /** Its database was in use to the end; `state` is the last that was seen. */
  | "in-use"
  /** Another request is in its place. */
  | "replaced";

/** A line of what the host answers. */
export interface Said extends Told {
  session?: Standing;
  state?: string;
  /** Somebody had asked the same already. */
  joined?: boolean;
  ended?: Ended;
  error?: string | null;
  busy?: string;
  platform?: string | null;
}

export const channelAsking = (request: ChannelRequest, paths: { data: string; code: string }) =>
  onStateDb(program, request, paths);
