import { type FairQueue, type FairQueueOptions, fairQueue } from "./fair-queue.js";
import { type LoopShare, type LoopShareOptions, loopShare } from "./loop-share.js";
import { type PendingOptions, type PendingRequests, pendingRequests } from "./pending-requests.js";

/** What keeps one key or agent from taking all there is: memory, an agent's connections, the gateway's own thread. */
export interface Traffic {
  pending: PendingRequests;
  queue: FairQueue;
  share: LoopShare;
  /** Bytes of one answer that comes whole, which are held in memory; and of one that is streamed. */
  answerBytes: number;
  streamBytes: number;
  /** Milliseconds without progress after which an answer that nobody reads is dropped. */
  unread: number;
}

export interface TrafficLimits extends PendingOptions, FairQueueOptions, LoopShareOptions {
  answerBytes?: number;
  streamBytes?: number;
  unread?: number;
}

export function trafficWith(limits: TrafficLimits = {}): Traffic {
  const { answerBytes = 16 * 1024 * 1024, streamBytes = 256 * 1024 * 1024, unread = 60_000 } = limits;
  const [pending, queue, share] = [pendingRequests(limits), fairQueue(limits), loopShare(limits)];
  return { pending, queue, share, answerBytes, streamBytes, unread };
}
