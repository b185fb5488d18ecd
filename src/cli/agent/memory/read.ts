import { Fault } from "../../../errors.js";
import { memoryTarget, readFile } from "../../../flows/agent/memory/memory-files.js";
import { withSession } from "../../../flows/session.js";
import { plain } from "../../../ui/plain.js";
import type { Handler } from "../../command.js";
import type { read } from "./commands.js";

export const run: Handler<typeof read> = async ({ args }, clm) => {
  const { file, content } = await withSession(clm, async (session) => {
    const target = await memoryTarget(session, args.name);
    return readFile(session, target, target.file(args.file));
  });
  if (!content) {
    throw new Fault("not-found", `Memory file not found: ${file.name}`, {
      why: `${args.name} has not written it yet`,
      next: `clm agent memory edit ${args.name} ${file.name}`,
    });
  }
  if (!Buffer.from(content.text).equals(content.bytes)) clm.ui.warn(`${file.name} is not valid UTF-8`);
  // The text may come from anybody the agent talked to: a pipe gets every byte, a terminal no escape sequence.
  clm.ui.out(process.stdout.isTTY ? plain(content.text) : content.text);
};
