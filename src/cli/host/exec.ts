import { errorOf, Fault } from "../../errors.js";
import { type ExecListener, execOnHosts, type HostResult, worst } from "../../flows/host/exec.js";
import { withSession } from "../../flows/session.js";
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
  const print = hosts.length === 1 ? streamed : grouped;
  const listener = people ? print(clm, raw) : {};
  const answers = await withSession(clm, (session) => execOnHosts(session, hosts, question, listener));
  if (!people && !clm.dryRun) {
    clm.show(answers.map(({ fault, ...answer }) => ({ ...answer, ...(fault && { error: errorOf(fault) }) })));
  }
  return worst(answers);
};

/** One host: prints its output as it arrives. */
const streamed = (clm: Context, raw: boolean): ExecListener => ({
  stdout: (chunk) => clm.ui.pass("stdout", chunk, { raw }),
  stderr: (chunk) => clm.ui.pass("stderr", chunk, { raw }),
  answer: (answer) => printEnd(clm, answer),
});

/** Many hosts: prints the output of each as a block when it is complete. */
const grouped = (clm: Context, raw: boolean): ExecListener => ({
  answer: (answer) => {
    printOutput(clm, answer.host, answer, raw);
    printEnd(clm, answer);
  },
});

function printEnd(clm: Context, { host, code, signal, fault }: HostResult): void {
  if (fault) warnOf(clm, fault, `${host}: `);
  else if (code !== 0) clm.ui.warn(`${host}: ended with ${code ?? signal ?? "a signal"}`);
}
