import { type Change, changesOf } from "../../agents/plan/change.js";
import type { Operation } from "../../remote/operations/operation.js";
import type { Shell } from "../../remote/process.js";
import type { Action } from "../gate.js";
import type { Session } from "../session.js";
import { withProgress } from "../with-progress.js";

interface Bringing {
  root: Shell;
  /** A function where it is known only when what is done first is done. */
  wish: Operation[] | (() => Operation[]);
  title: string;
  /** Done before the host is changed, as a part of the same deed. */
  first?: () => Promise<unknown>;
}

/** Brings a host to a wish and tells what that changed; in a dry run only looks, and tells what it would. */
export async function bring(
  { ui, gate }: Session,
  action: Action,
  { root, wish, title, first = async () => {} }: Bringing,
): Promise<Change[]> {
  const wished = () => (typeof wish === "function" ? wish() : wish);
  const done = await gate.pass(action, async (executor) => {
    await first();
    return withProgress(ui, title, () => executor.converge(root, wished()));
  });
  return changesOf(done ?? (await gate.converge(action, root, wished())));
}
