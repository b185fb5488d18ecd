import { isDeepStrictEqual } from "node:util";
import type { Check } from "../../agents/check.js";
import { Fault } from "../../errors.js";
import { findType, flagFor, type KnownType } from "../../flows/provider/types.js";
import { secretsOf, valuesOf } from "../../flows/provider/values.js";
import type { Session } from "../../flows/session.js";
import type { Secret } from "../../secret.js";
import { findProvider, type Provider } from "../../state/providers.js";
import type { Handler } from "../command.js";
import { usage } from "../usage.js";
import { type AnswerOptions, answersFrom, checkAnswers, fieldOf } from "./answers.js";
import type { update } from "./commands.js";
import { mustWork, printCheck, storeSecrets } from "./store.js";
import { configureLine, setBack, usersOf } from "./users.js";
import { providerView, rowOf } from "./view.js";

export const run: Handler<typeof update> = async ({ args: { name }, options }, clm) => {
  const { noTest, unset, ...answers } = options;
  if (
    unset.length === 0 &&
    Object.values(answers).every((value) => !value || (Array.isArray(value) && !value.length))
  ) {
    throw usage("clm provider update", `no option names a change to ${name}`);
  }
  const change = { ...answersFrom("clm provider update", answers), unset, test: !noTest };
  await clm.withSession(async (session) => {
    const { provider, changed, agents, check } = await updateProvider(session, name, change);
    printCheck(clm.ui, check);
    clm.list([rowOf(name, provider, { fleet: session.hosts.read(), secrets: session.secrets })], providerView);
    if (!changed) clm.ui.note("already up to date; nothing was changed");
    if (clm.dryRun) return;
    for (const agent of agents) clm.ui.note(`to apply the change on its host: ${configureLine(agent)}`);
  });
};

interface ProviderChange extends AnswerOptions {
  /** Fields, or `model`. */
  unset: string[];
  test: boolean;
}

/** Returns the agents that use the provider and must be configured again. */
async function updateProvider(session: Session, name: string, change: ProviderChange) {
  const before = findProvider(session.providers.read(), name);
  const type = await findType(session.configDir, before.type);
  mayBeUnset(type, change.unset);
  const given = await checkAnswers(session, type, change);
  mustNotBeBoth(change, { ...given.fields, ...given.secrets, ...given.references });

  const replaced = [...change.unset, ...Object.keys(given.secrets)];
  const references = { ...without(before.references ?? {}, replaced), ...given.references };
  const changed = (old: Provider): Provider => {
    const { model, references: _, ...rest } = old;
    const chosen = change.model ?? (change.unset.includes("model") ? undefined : model);
    return {
      ...rest,
      fields: { ...without(old.fields, change.unset), ...given.fields },
      ...(chosen && { model: chosen }),
      ...(Object.keys(references).length > 0 && { references }),
    };
  };

  const stored = await secretsOf(session, name, type, {});
  const secrets = { ...without(stored, [...change.unset, ...Object.keys(given.references)]), ...given.secrets };
  const after = changed(before);
  const sameKeys = same(stored, secrets);
  if (isDeepStrictEqual(after, before) && sameKeys) return { provider: before, changed: false, agents: [] };

  // The test asks about address and key; the model makes no difference to it.
  const mustTest = !sameKeys || !isDeepStrictEqual({ ...after, model: "" }, { ...before, model: "" });
  let check: Check | undefined;
  if (change.test && mustTest) {
    const known = { ...secrets, ...given.fetched };
    // Unchanged references have not been fetched yet.
    const fetched = await secretsOf(session, name, type, { references: without(references, Object.keys(known)) });
    const values = valuesOf(type, after.fields, { ...fetched, ...known });
    check = await mustWork(session, name, type, values, `provider ${name} was not changed`);
  }
  const agents = usersOf(session.hosts.read(), name);
  const updated_at = session.now().toISOString();
  await session.gate.pass({ verb: "provider update", target: name, summary: `update provider ${name}` }, () =>
    session.withFleetLock(async () => {
      findProvider(session.providers.read(), name);
      // Agents first, record last: an interrupted run can simply be repeated.
      await setBack(session, usersOf(session.hosts.read(), name), "validate");
      await storeSecrets(session, name, type, secrets);
      await session.providers.update(({ providers, ...rest }) => ({
        ...rest,
        providers: { ...providers, [name]: { ...changed(findProvider({ providers }, name)), updated_at } },
      }));
    }),
  );
  return { provider: { ...after, updated_at }, changed: true, agents, check };
}

function same(one: Record<string, Secret>, other: Record<string, Secret>): boolean {
  return Object.keys({ ...one, ...other }).every((name) => one[name]?.reveal() === other[name]?.reveal());
}

function mayBeUnset(type: KnownType, names: string[]): void {
  for (const name of names.filter((each) => each !== "model")) {
    const field = fieldOf(type, name);
    if (!field.required) continue;
    throw new Fault("bad-input", `${name} is required for ${type.name}`, {
      why: `change it with ${flagFor(type, field)}`,
    });
  }
}

function mustNotBeBoth({ unset, model }: ProviderChange, given: Record<string, unknown>): void {
  const both = unset.find((name) => Object.hasOwn(given, name) || (name === "model" && model !== undefined));
  if (both) throw usage("clm provider update", `${both} is both set and unset`);
}

const without = <V>(record: Record<string, V>, names: string[]): Record<string, V> =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
