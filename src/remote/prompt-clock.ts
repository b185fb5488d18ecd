import type { Fault } from "../errors.js";

export interface Deadline {
  /** Aborted with the given fault when the time is up. */
  readonly signal: AbortSignal;
  /** Milliseconds left. */
  left(): number;
  /** All of the time is left again. */
  restart(): void;
  stop(): void;
}

/** A clock that stops while a person is asked for a password: deadlines count only the hosts' time. */
export class PromptClock {
  #prompts = 0;
  readonly #running = new Set<{ pause(): void; resume(): void }>();

  async whileAsking<T>(answer: Promise<T>): Promise<T> {
    if (this.#prompts++ === 0) for (const each of this.#running) each.pause();
    try {
      return await answer;
    } finally {
      if (--this.#prompts === 0) for (const each of this.#running) each.resume();
    }
  }

  /** Credentials whose prompts stop this clock. */
  wrap<T extends Record<keyof T, (...given: never[]) => Promise<unknown>>>(credentials: T): T {
    const wrapped = Object.entries(credentials).map(([name, ask]) => [
      name,
      (...given: never[]) => this.whileAsking((ask as (...given: never[]) => Promise<unknown>)(...given)),
    ]);
    return Object.fromEntries(wrapped) as T;
  }

  deadline(milliseconds: number, late: () => Fault): Deadline {
    const over = new AbortController();
    let spent = 0;
    let since: number | undefined;
    let timer: NodeJS.Timeout | undefined;
    const now = () => (since === undefined ? 0 : performance.now() - since);
    const left = () => (over.signal.aborted ? 0 : Math.max(0, milliseconds - spent - now()));
    const deadline = {
      signal: over.signal,
      left,
      pause() {
        clearTimeout(timer);
        if (since !== undefined) spent += performance.now() - since;
        since = undefined;
      },
      resume() {
        since = performance.now();
        timer = setTimeout(() => {
          deadline.stop();
          over.abort(late());
        }, left());
      },
      restart: () => {
        deadline.pause();
        spent = 0;
        if (this.#prompts === 0) deadline.resume();
      },
      stop: () => {
        deadline.pause();
        this.#running.delete(deadline);
      },
    };
    this.#running.add(deadline);
    if (this.#prompts === 0) deadline.resume();
    return deadline;
  }
}
