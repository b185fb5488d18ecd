import type { Progress, Ui } from "../ui/ui.js";

export async function withProgress<T>(ui: Ui, title: string, work: (progress: Progress) => Promise<T>): Promise<T> {
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
