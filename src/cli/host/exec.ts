import { Fault } from "../../errors.js";
import { type Answer, execOnHosts, worst } from "../../flows/host/exec.js";
import { withSession } from "../../flows/session.js";
import { labelsFrom } from "../../names.js";
import { hostStore, selectHosts } from "../../state/hosts.js";
import { plain } from "../../ui/plain.js";
import type { Context, Handler } from "../command.js";
import type { exec } from "./commands.js";

export const run: Handler<typeof exec> = async ({ args, options }, clm) => {
  const { all, label, sudo, timeout, parallel, sudoPasswordFile } = options;
  if (!all && args.patterns.length === 0 && label.length === 0) {
    throw new Fault("usage", "no host was named", { next: "clm host exec --all -- COMMAND" });
  }
  const { hosts } = hostStore(clm.configDir).read();
  const chosen = all ? hosts : selectHosts(hosts, args.patterns, labelsFrom(label));
  const question = { command: args.command, sudo, timeout: timeout && timeout * 1000, parallel };

  const people = clm.format === "table";
  const answers = await withSession({ ...clm, sudoPasswordFile }, (session) =>
    execOnHosts(session, chosen, question, (answer) => people && tell(clm, answer, chosen.length > 1)),
  );
  if (!people) clm.show(answers.map(machine), () => "");
  return worst(answers);
};

/** One host's answer as a block of its own, as soon as it is whole. */
function tell({ ui }: Context, answer: Answer, many: boolean): void {
  const { host, code, stdout, stderr, fault } = answer;
  if (many) ui.out(`${host}:\n`);
  if (stdout) ui.out(stdout.endsWith("\n") ? stdout : `${stdout}\n`);
  for (const line of stderr.split("\n")) if (line) ui.note(many ? `${host}: ${plain(line)}` : plain(line));
  if (fault) {
    ui.warn(`${host}: ${fault.message} [${fault.code}]`);
    for (const line of [...fault.why, ...fault.next.map((next) => `next: ${next}`)]) ui.note(`  ${line}`);
  }
  if (!fault && code !== 0) ui.warn(`${host}: ended with ${code ?? "a signal"}`);
}

function machine({ fault, ...answer }: Answer) {
  return { ...answer, ...(fault && { error: { code: fault.code, message: fault.message, why: fault.why } }) };
}
