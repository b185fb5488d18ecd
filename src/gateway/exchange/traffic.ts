import { FairQueue, type FairQueueOptions } from "./fair-queue.js";
import { LoopShare, type LoopShareOptions } from "./loop-share.js";
import { type PendingOptions, PendingRequests } from "./pending-requests.js";

export interface TrafficLimits extends PendingOptions, FairQueueOptions, LoopShareOptions {
  answerBytes?: number;
  streamBytes?: number;
  unread?: number;
}

/** Keeps one key or agent from taking all of something: memory, an agent's connections, the gateway's own thread. */
export class Traffic {
  readonly pending: PendingRequests;
  readonly queue: FairQueue;
  readonly share: LoopShare;
  /** Bytes of one whole answer, which is held in memory, and of one that is streamed. */
  readonly answerBytes: number;
  readonly streamBytes: number;
  /** Milliseconds without progress after which an answer that the caller does not read is dropped. */
  readonly unread: number;

  constructor(limits: TrafficLimits = {}) {
    this.pending = new PendingRequests(limits);
    this.queue = new FairQueue(limits);
    this.share = new LoopShare(limits);
    this.answerBytes = limits.answerBytes ?? 16 * 1024 * 1024;
    this.streamBytes = limits.streamBytes ?? 256 * 1024 * 1024;
    this.unread = limits.unread ?? 60_000;
  }
}
