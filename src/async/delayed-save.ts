/** Saves a value some time after it changed, and never twice at once. */
export class DelayedSave {
  #timer: NodeJS.Timeout | undefined;
  #saving: Promise<void> | undefined;
  #changed = false;
  #closed = false;

  constructor(
    /** What cannot be saved is tried again later. */
    private readonly save: () => Promise<void>,
    /** Milliseconds. */
    private readonly delay: number,
  ) {}

  changed(): void {
    this.#changed = true;
    if (this.#timer || this.#closed) return;
    this.#timer = setTimeout(async () => {
      await this.#saving;
      this.#timer = undefined;
      this.#saving = this.#now();
      await this.#saving;
      this.#saving = undefined;
      if (this.#changed) this.changed();
    }, this.delay).unref();
  }

  /** Saves what is not saved. Afterwards nothing is saved any more. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    while (this.#saving) await this.#saving;
    await this.#now();
  }

  async #now(): Promise<void> {
    if (!this.#changed) return;
    this.#changed = false;
    await this.save().catch(() => {
      this.#changed = true;
    });
  }
}
