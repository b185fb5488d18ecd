export interface CleanupStack {
  add(close: () => unknown): void;
  /** Closes all, even if one fails; then throws the first error. */
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
