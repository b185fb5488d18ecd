import type { Operation } from "../../remote/operations/operation.js";
import type { Shell } from "../../remote/process.js";
import type { Deed } from "../gate.js";
import type { Session } from "../session.js";
import { step } from "../step.js";
import { type Change, changesOf } from "./change.js";

/** Brings a host to a wish and tells what that changed; in a dry run only looks, and tells what it would. */
export async function bring(
  { ui, gate }: Session,
  deed: Deed,
  { root, wish, title }: { root: Shell; wish: Operation[]; title: string },
): Promise<Change[]> {
  const done = await gate.pass(deed, (works) => step(ui, title, () => works.converge(root, wish)));
  return changesOf(done ?? (await gate.converge(deed, root, wish)));
}
