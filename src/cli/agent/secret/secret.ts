import { dotenvFile } from "../../../agents/files/dotenv.js";
import { Fault } from "../../../errors.js";
import { mustBeUserVariable, remarksOn } from "../../../flows/agent/secret/allowed.js";
import { changeSecrets, type SecretChange, type SecretResult } from "../../../flows/agent/secret/change.js";
import { secretsIn } from "../../../flows/agent/secret/env-file.js";
import type { AgentTarget } from "../../../flows/agent/target.js";
import { parseSource, readPrivateFile, type SecretSource, secretFrom } from "../../../flows/secret-source.js";
import type { Session } from "../../../flows/session.js";
import { agentId, secretOwner } from "../../../state/agents.js";
import { didYouMean } from "../../../text/nearest.js";
import { nextCommand } from "../../agent-view.js";
import type { Context, Handler } from "../../command.js";
import { dryRunLines, printResult } from "../../print-result.js";
import { usage } from "../../usage.js";
import type * as declared from "./commands.js";

export const set: Handler<typeof declared.set> = async ({ args: { name, key }, options }, clm) => {
  const source = sourceOf(options.from, options.stdin);
  await changeAndPrint(clm, name, options.apply, async (session, target) => {
    mustBeUserVariable(session, target, key);
    const value = await secretFrom(session, source, { what: `the value of ${key}`, flag: "--from env:VARIABLE" });
    const values = new Map([[key, value]]);
    // Throws now, and not when it is applied, if .env cannot contain the value.
    dotenvFile(values);
    const { stripped, texts } = remarksOn(target, [key]);
    for (const text of texts) session.ui.warn(text);
    return { verb: "agent secret set", summary: `set ${key} of ${agentId(target.agent)}`, values, stripped };
  });
};

function sourceOf(from: string | undefined, stdin: boolean): SecretSource {
  if (from !== undefined && stdin) throw new Fault("usage", "--stdin and --from contradict each other");
  if (from !== undefined) return parseSource(from);
  return { kind: stdin ? "stdin" : "prompt" };
}

export const remove: Handler<typeof declared.remove> = ({ args: { name, key }, options }, clm) =>
  changeAndPrint(clm, name, options.apply, (session, target) => {
    mustBeUserVariable(session, target, key);
    const { agent } = target;
    const names = session.secrets.names(secretOwner(agent));
    if (!names.includes(key)) {
      throw new Fault("not-found", `${agentId(agent)} has no secret ${key}`, {
        ...didYouMean(key, names),
        next: `clm agent secret list ${agent.ref}`,
      });
    }
    return {
      verb: "agent secret remove",
      summary: `remove ${key} of ${agentId(agent)}`,
      question: `Remove ${key} of ${agentId(agent)}?`,
      values: new Map([[key, undefined]]),
    };
  });

const importFile: Handler<typeof declared.importFile> = async ({ args: { name }, options }, clm) => {
  const { file } = options;
  if (file === undefined) throw usage("clm agent secret import", "--file is missing: name the file to import");
  await changeAndPrint(clm, name, options.apply, async (session, target) => {
    const { ui, secrets } = session;
    const { agent } = target;
    const values = secretsIn(file, await fileFrom(session, file));
    for (const value of values.values()) ui.hide(value);
    if (values.size === 0) throw new Fault("bad-input", `${file} contains no secrets`);
    for (const key of values.keys()) mustBeUserVariable(session, target, key);
    dotenvFile(values);
    const { stripped, texts } = remarksOn(target, values.keys());
    for (const text of texts) ui.warn(text);
    const known = secrets.names(secretOwner(agent));
    const names = [...values.keys()].map((key) => (known.includes(key) ? `${key} (replaced)` : key)).join(", ");
    return {
      verb: "agent secret import",
      summary: `set ${names} of ${agentId(agent)}`,
      question: `Set ${names} of ${agentId(agent)}?`,
      values,
      stripped,
    };
  });
};

export { importFile as import };

const fileFrom = (session: Session, path: string): Promise<string> =>
  readPrivateFile(session, path, {
    maxBytes: 1024 * 1024,
    tooLong: "it is larger than 1 MB",
    failed: (why, cause) => new Fault("bad-input", `${path} cannot be read`, { why, cause }),
  });

/** Changes the secrets of an agent as `changeFor` says, and prints the result. */
function changeAndPrint(
  clm: Context,
  name: string,
  apply: boolean,
  changeFor: (session: Session, target: AgentTarget) => SecretChange | Promise<SecretChange>,
): Promise<void> {
  return clm.withSession(async (session) => {
    const result = await changeSecrets(session, name, apply, (target) => changeFor(session, target));
    const { agent, ...data } = result;
    for (const line of resultLines(result, apply, clm.dryRun)) clm.ui.note(line);
    printResult(clm, agent, data, () => {});
  });
}

function resultLines(result: SecretResult, apply: boolean, dryRun: boolean): string[] {
  const { agent, set, forgotten, applied, down, changes } = result;
  const same = set.length + forgotten.length === 0;
  if (dryRun && apply) return dryRunLines(changes, `${agent.host.name} is up to date`);
  const already = `the secrets of ${agentId(agent)} are already so`;
  if (dryRun) return same ? [`${already}; nothing would change`] : [];
  const are = (names: string[]) => `${names.join(", ")} of ${agentId(agent)} ${names.length === 1 ? "is" : "are"}`;
  const lines = same ? [`${already}; nothing was changed`] : [];
  if (set.length > 0) lines.push(`${are(set)} set`);
  if (forgotten.length > 0) lines.push(`${are(forgotten)} removed`);
  if (applied && down) {
    lines.push(`the host is up to date; ${agent.name} is stopped and stays stopped`, `next: ${nextCommand(agent)}`);
  } else if (applied) lines.push(`the host is up to date; ${agent.name} answers`);
  else if (!same) lines.push(`next: clm agent configure ${agent.ref}   # writes it to the host`);
  return lines;
}
