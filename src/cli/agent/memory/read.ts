import { Fault } from "../../../errors.js";
import { readMemory } from "../../../flows/agent/memory/read.js";
import { withSession } from "../../../flows/session.js";
import { plain } from "../../../ui/plain.js";
import type { Handler } from "../../command.js";
import type { read } from "./commands.js";

export const run: Handler<typeof read> = async ({ args, options }, clm) => {
  const [seen] = await withSession({ ...clm, ...options }, (session) => readMemory(session, args.name, args.file));
  if (!seen?.found) {
    throw new Fault("not-found", `Memory file not found: ${seen?.file.name}`, {
      why: `${args.name} has not written it yet`,
      next: `clm agent memory edit ${args.name} ${seen?.file.name}`,
    });
  }
  const text = seen.found.bytes.toString("utf8");
  if (!Buffer.from(text).equals(seen.found.bytes)) clm.ui.warn(`${seen.file.name} is not valid UTF-8`);
  // What an agent remembers may come from anybody it talked to: a pipe gets every byte, a terminal no escape sequence.
  clm.ui.out(process.stdout.isTTY ? plain(text) : text);
  return undefined;
};
