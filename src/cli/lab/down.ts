import { labDown } from "../../flows/lab/down.js";
import { withSession } from "../../flows/session.js";
import { status } from "../../lab/lab.js";
import type { Handler } from "../command.js";
import type { down } from "./commands.js";

export const run: Handler<typeof down> = async ({ options }, clm) => {
  const names = options.all ? (await status()).map((lab) => lab.name) : [options.name];
  await withSession(clm, async (session) => {
    for (const name of names) await labDown(session, name);
  });
  return undefined;
};
