/** What was opened, to be closed in reverse order. */
export class CleanupStack {
  readonly #opened: (() => unknown)[] = [];

  add(close: () => unknown): void {
    this.#opened.unshift(close);
  }

  /** Closes all, even if one fails; then throws the first error. */
  async all(): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.#opened.splice(0)) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
