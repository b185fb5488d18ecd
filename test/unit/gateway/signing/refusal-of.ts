import { Refusal } from "../../../../src/gateway/request/refusal.js";

/** The refusal that `work` ends with. */
export async function refusalOf(work: Promise<unknown>): Promise<Refusal> {
  try {
    await work;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error("expected a refusal, and there was none");
}
