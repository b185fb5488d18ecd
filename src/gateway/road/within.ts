import { Refusal } from "../refusal.js";

/** Nobody waits longer for a host that does not answer; what comes too late is dropped. */
export function within<T>(
  milliseconds: number,
  work: Promise<T>,
  title: string,
  drop: (late: T) => void = () => {},
): Promise<T> {
  return new Promise((done, failed) => {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      const text = `no answer on the way to ${title} within ${milliseconds / 1000} s`;
      failed(new Refusal(503, "host_unreachable", text, { retryAfter: 1 }));
    }, milliseconds);
    work.then(
      (result) => {
        clearTimeout(timer);
        if (late) drop(result);
        else done(result);
      },
      (error) => {
        clearTimeout(timer);
        failed(error);
      },
    );
  });
}
