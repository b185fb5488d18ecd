import { errorOf, Fault } from "../../errors.js";
import { type ExecListener, execOnHosts, type HostResult, worst } from "../../flows/host/exec.js";
import type { Context, Handler } from "../command.js";
import { printOutput, warnOf } from "../print-result.js";
import type { exec } from "./commands.js";
import { chooseHosts } from "./options.js";

export const run: Handler<typeof exec> = async ({ args, options }, clm) => {
  const { all, label, sudo, timeout, parallel, raw } = options;
  const { patterns, command } = args;
  if (!all && patterns.length === 0 && label.length === 0) {
    throw new Fault("usage", "no host is selected", { next: "clm host exec --all -- COMMAND" });
  }
  const hosts = chooseHosts(clm, { all, label, patterns });
  if (hosts.length === 0) throw new Fault("not-found", "there are no hosts yet", { next: "clm host add --help" });
  const question = { command, sudo, timeout: timeout && timeout * 1000, parallel };

  const people = clm.format === "table";
  const listener = people ? listenerFor(clm, hosts.length, raw) : {};
  const answers = await clm.withSession((session) => execOnHosts(session, hosts, question, listener));
  if (!people && !clm.dryRun) {
    clm.show(answers.map(({ fault, ...answer }) => ({ ...answer, ...(fault && { error: errorOf(fault) }) })));
  }
  return worst(answers);
};

/** Prints the output of one host as it arrives, that of several as a block for each when it is complete. */
const listenerFor = (clm: Context, hosts: number, raw: boolean): ExecListener => ({
  ...(hosts === 1 && {
    stdout: (chunk) => clm.ui.pass("stdout", chunk, { raw }),
    stderr: (chunk) => clm.ui.pass("stderr", chunk, { raw }),
  }),
  answer: (answer) => {
    if (hosts > 1) printOutput(clm, answer.host, answer, raw);
    printEnd(clm, answer);
  },
});

function printEnd(clm: Context, { host, code, signal, fault }: HostResult): void {
  if (fault) warnOf(clm, fault, `${host}: `);
  else if (code !== 0) clm.ui.warn(`${host}: ended with ${code ?? signal ?? "a signal"}`);
}
