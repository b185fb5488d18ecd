/** What must be closed, the last opened first. */
export interface CleanupStack {
  add(close: () => unknown): void;
  /** Closes all of it, also when one fails; then throws what the first that failed said. */
  all(): Promise<void>;
}

export function cleanupStack(): CleanupStack {
  const opened: (() => unknown)[] = [];
  return {
    add: (close) => void opened.unshift(close),
    async all() {
      const failures: unknown[] = [];
      for (const close of opened.splice(0)) {
        try {
          await close();
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}
