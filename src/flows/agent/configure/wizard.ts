import { checkAnswer } from "../../../agents/manifest/fields.js";
import type { ChannelType, Field } from "../../../agents/manifest/manifest.js";
import { loadManifests } from "../../../agents/manifest/registry.js";
import { inRange } from "../../../agents/manifest/versions.js";
import { takenPorts } from "../../../agents/plan/ports.js";
import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { Fault, isFault } from "../../../errors.js";
import type { AgentRecord } from "../../../state/agent.js";
import { findHost } from "../../../state/hosts.js";
import { findProvider } from "../../../state/providers.js";
import { own } from "../../../text/own-property.js";
import { findType } from "../../provider/types.js";
import { secretFrom } from "../../secret-source.js";
import type { Session } from "../../session.js";
import { missingProviders, missingProvidersFault, noProvider } from "../missing-providers.js";
import { answersGiven, auxiliaryAfter, type Changes, flagName, type PartAnswers, withPartName } from "./changes.js";

export interface Interview {
  resolved: ResolvedAgent;
  record: AgentRecord;
  stages: Record<"providers" | "identity" | "channels", boolean>;
  /** The stage of `--stage`: its optional questions are asked even if it was completed before. */
  named?: string | undefined;
}

/**
 * Without a terminal each question is a fault that names its flag. Optional questions are asked only when no flag or
 * file gave any answer, or for the stage of `--stage` when it has none: `configure --provider echo` must not prompt.
 */
export async function interview(session: Session, changes: Changes, about: Interview): Promise<Changes> {
  const { fields, secrets } = changes.settings;
  const settings = { fields: { ...fields }, secrets: { ...secrets } };
  const asked: Changes = { ...changes, settings, channels: { ...changes.channels }, mcp: { ...changes.mcp } };
  const given = answersGiven(changes);
  if (about.stages.providers) await askProvider(session, asked, about);
  if (about.stages.identity) {
    const { resolved, record, named } = about;
    const type = { fields: resolved.manifest.settings };
    const everything = session.ui.interactive && (named === "identity" || !record.settings) && !given.identity;
    await complete(session, about, { name: "", part: asked.settings, type, before: record.settings, everything });
  }
  if (about.stages.channels) {
    await completeChannels(session, asked, about);
    const open = !about.record.onboarding.stages.channels && !Object.values(given).includes(true);
    const offer = about.named === "channels" ? !given.channels : open;
    if (offer && session.ui.interactive) await offerChannels(session, asked, about);
  }
  const at = session.now().toISOString();
  const completed = Object.entries(about.stages).flatMap(([name, done]) => (done ? [[name, at]] : []));
  return { ...asked, answered: Object.fromEntries(completed) };
}

async function askProvider(session: Session, changes: Changes, about: Interview): Promise<void> {
  const { ui } = session;
  const { resolved: agent, record, named } = about;
  const known = session.providers.read();
  const missing = missingProviders(recordWith(record, changes), known);
  if (missing.length > 0 && !ui.interactive) throw missingProvidersFault(agent, missing);
  const lost = missing.some(({ provider }) => provider === record.provider) && changes.provider === undefined;
  if (lost) ui.warn(`${agent.name} has ${record.provider} as its provider, which does not exist`);
  const again = named === "providers" && !answersGiven(changes).providers && ui.interactive;
  if ((changes.provider ?? record.provider) === undefined || lost || again) {
    const all = Object.entries(known.providers);
    const serving = await Promise.all(all.map(([, { type }]) => serves(session, agent, type)));
    const usable = all.filter((_, index) => serving[index]);
    if (all.length === 0) throw noProvider(agent);
    if (usable.length === 0)
      throw noProvider(agent, `none of your providers supports ${agent.manifest.type} ${agent.version}`);
    changes.provider = await ui.choose({
      message: `Provider for ${agent.name}:`,
      flag: "--provider",
      choices: usable.map(([name, { type, model }]) => ({
        value: name,
        name: `${name} (${type}${model ? `, ${model}` : ""})`,
      })),
      ...(record.provider && !lost && { initial: record.provider }),
    });
  }
  const name = changes.provider ?? record.provider;
  if (name === undefined) return;
  const provider = findProvider(known, name);
  const mine = name === record.provider ? record.model : undefined;
  if (changes.model === undefined && mine === undefined && provider.model === undefined) {
    const { model } = await findType(session.configDir, provider.type);
    changes.model = await ui.ask({ message: "Model:", flag: "--model", ...(model && { initial: model }) });
  }
  await askWithout(session, changes, about);
}

const recordWith = (record: AgentRecord, changes: Changes) => ({
  provider: changes.provider ?? record.provider,
  fallbacks: changes.fallbacks ?? record.fallbacks,
  auxiliary: auxiliaryAfter(record, changes),
});

/** Offers to drop fallbacks and tasks whose provider does not exist. */
async function askWithout(
  { ui, providers }: Session,
  changes: Changes,
  { resolved: agent, record }: Interview,
): Promise<void> {
  const known = providers.read();
  const missing = missingProviders(recordWith(record, changes), known);
  for (const each of missing) {
    const message = `${agent.name} has ${each.provider} as ${each.as}, which does not exist. Continue without it?`;
    if (!(await ui.confirm({ message, flag: each.flag }))) throw missingProvidersFault(agent, missing);
  }
  if (missing.length === 0) return;
  const isThere = ({ provider }: { provider: string }) => Object.hasOwn(known.providers, provider);
  const { fallbacks = [], auxiliary } = recordWith(record, changes);
  changes.fallbacks = fallbacks.filter(isThere);
  const tasks = Object.entries(auxiliary).map(([task, each]) => [task, isThere(each) ? each : undefined] as const);
  changes.auxiliary = { ...changes.auxiliary, ...Object.fromEntries(tasks) };
}

async function serves({ configDir }: Session, { manifest, version }: ResolvedAgent, type: string): Promise<boolean> {
  const { name } = await findType(configDir, type);
  const known = own(manifest.providers, name);
  return known !== undefined && inRange(version, known.when);
}

const done = "-";

async function completeChannels(session: Session, changes: Changes, about: Interview): Promise<void> {
  const { resolved, record } = about;
  const { channels, mcp } = resolved.manifest;
  for (const [name, part] of Object.entries(changes.channels)) {
    await complete(session, about, { name, part, type: own(channels, name), before: own(record.channels, name) });
  }
  for (const [name, part] of Object.entries(changes.mcp)) {
    if (!part.server)
      await complete(session, about, { name, part, type: own(mcp, name), before: own(record.mcp, name)?.fields });
  }
}

async function offerChannels(session: Session, changes: Changes, about: Interview): Promise<void> {
  const { resolved: agent, record } = about;
  const { channels } = agent.manifest;
  const offered = Object.entries(channels).filter(([, { when }]) => inRange(agent.version, when));
  for (;;) {
    const on = Object.keys({ ...record.channels, ...changes.channels }).map((each) => `, ${each}`);
    const name = await session.ui.choose({
      message: `Channels: the local API is always on${on.join("")}. Another?`,
      flag: "--channel",
      choices: [{ value: done, name: "no more" }, ...offered.map(([value, { title }]) => ({ value, name: title }))],
    });
    if (name === done) return;
    const part = { fields: {}, secrets: {} };
    changes.channels[name] = part;
    const type = own(channels, name);
    await complete(session, about, { name, part, type, before: record.channels?.[name], everything: true });
  }
}

interface IncompletePart {
  name: string;
  part: PartAnswers;
  /** Undefined for an unknown channel or server, which is reported elsewhere. */
  type: (Pick<ChannelType, "fields" | "help"> & Partial<Pick<ChannelType, "allow">>) | undefined;
  before?: Record<string, string> | undefined;
  /** Also ask optional questions. */
  everything?: boolean;
}

async function complete(
  session: Session,
  { resolved: agent, record }: Interview,
  incomplete: IncompletePart,
): Promise<void> {
  const { name, part, type, before = {}, everything = false } = incomplete;
  if (!type) return;
  if (everything && type.help) session.ui.note(type.help);
  for (const field of type.fields) {
    const known = Object.hasOwn(part.fields, field.name) || Object.hasOwn(part.secrets, field.name);
    if (known || isKept(session, agent, record, field, before)) continue;
    const needed = field.required && field.default === undefined;
    if (mustLetIn(type.allow ?? [], field, part, before)) await askWhoMayTalk(session, incomplete, field);
    else if (needed || (everything && !field.flag))
      await askField(session, name, await suggested(session, agent, field), part);
  }
}

/** Suggests a port that no other agent of the host has. */
async function suggested(
  { hosts, configDir }: Session,
  { host, name, port }: ResolvedAgent,
  field: Field,
): Promise<Field> {
  if (!field.listens || field.default === undefined) return field;
  const others = takenPorts(findHost(hosts.read().hosts, host), name, await loadManifests(configDir));
  const taken = [port, ...others.map((each) => each.port)];
  let free = Number(field.default);
  while (taken.includes(free)) free++;
  return { ...field, default: String(free) };
}

function isKept(
  session: Session,
  { host, name }: ResolvedAgent,
  record: AgentRecord,
  field: Field,
  before: Record<string, string>,
): boolean {
  if (!field.secret) return Object.hasOwn(before, field.name);
  return session.secrets.names({ host, type: record.type, agent: name }).includes(field.secret);
}

/** One of the access lists must be answered. */
const mustLetIn = (
  allow: string[],
  { name, flag }: Field,
  part: PartAnswers,
  before: Record<string, string>,
): boolean => allow.includes(name) && !flag && !allow.some((each) => part.fields[each] || before[each]);

async function askField(session: Session, name: string, field: Field, part: PartAnswers): Promise<void> {
  const { ui } = session;
  const title = flagName(name, field.name);
  if (field.help && ui.interactive) ui.note(`  ${field.help}`);
  if (field.secret) return askSecretField(session, name, field, part);
  const flag = `--set ${title}=…`;
  const choices = field.choices?.map((value) => ({ value }));
  const initial = field.default !== undefined && { initial: field.default };
  await untilValid(ui, async () => {
    const text = choices
      ? await ui.choose({ message: `${field.ask}:`, flag, choices, ...initial })
      : await ui.ask({ message: `${field.ask}:`, flag, ...initial });
    const answer = withPartName(name, () => checkAnswer(field, text));
    if (answer !== "") part.fields[field.name] = answer;
  });
}

/** Prompts for the secret here, in context, and again if it is not valid. */
async function askSecretField(session: Session, name: string, field: Field, part: PartAnswers): Promise<void> {
  const { ui } = session;
  const title = flagName(name, field.name);
  const flag = `--secret ${title}=env:VARIABLE`;
  if (!field.required && !ui.interactive) return;
  if (!ui.interactive) {
    const what = `no terminal to prompt on: ${field.ask} (${title})`;
    throw new Fault("needs-answer", what, { why: `${flag} answers it`, flag });
  }
  await untilValid(ui, async () => {
    const typed = await ui.askSecret({ message: `${field.ask} (${title}):`, flag });
    if (typed.reveal().trim() === "" && !field.required) return;
    const secret = await secretFrom(session, { kind: "given", secret: typed }, { what: title, flag });
    withPartName(name, () => checkAnswer(field, secret.reveal()));
    part.secrets[field.name] = { kind: "given", secret };
  });
}

/** When no access list was answered: confirms access for everybody, or asks again. */
async function askWhoMayTalk(session: Session, incomplete: IncompletePart, field: Field): Promise<void> {
  const { ui } = session;
  const { name, part, type, before = {} } = incomplete;
  const { allow = [], fields = [] } = type ?? {};
  const everybody = fields.find((each) => each.flag && allow.includes(each.name));
  const last = allow.filter((each) => each !== everybody?.name).at(-1) === field.name;
  do {
    await askField(session, name, field, part);
    if (!last || !mustLetIn(allow, field, part, before)) return;
    const flag = `--set ${name}.${everybody?.name}=yes`;
    if (everybody && (await ui.confirm({ message: "Let everyone talk to it?", flag }))) {
      part.fields[everybody.name] = "true";
      return;
    }
    ui.warn(`${name}.${field.name} must be answered: it defines who may talk to the agent`);
  } while (ui.interactive);
}

async function untilValid(ui: Session["ui"], work: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isFault(error, "bad-input")) throw error;
      ui.warn([error.message, ...error.why].join(": "));
    }
  }
}
