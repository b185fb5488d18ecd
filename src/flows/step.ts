import type { Progress, Ui } from "../ui/ui.js";

/** One named step of a flow, shown while it is taken. */
export async function step<T>(ui: Ui, title: string, work: (progress: Progress) => Promise<T>): Promise<T> {
  const progress = ui.progress(title);
  try {
    const result = await work(progress);
    progress.done();
    return result;
  } catch (error) {
    progress.fail();
    throw error;
  }
}
