import { isDeepStrictEqual } from "node:util";
import { Fault } from "../../errors.js";
import type { Secret } from "../../secret.js";
import type { Agent } from "../../state/agents.js";
import { findProvider, type Provider } from "../../state/providers.js";
import type { Check } from "../host/check.js";
import type { Session } from "../session.js";
import { notStored } from "./add.js";
import { checkGiven, fieldOf, type Given } from "./answers.js";
import { keepSecrets } from "./keep.js";
import { tryProvider } from "./test.js";
import { findType, flagFor, type KnownType } from "./types.js";
import { setBack, usersOf } from "./users.js";
import { secretsOf, valuesOf } from "./values.js";

export interface ProviderChange extends Given {
  /** Fields, or `model`. */
  unset: string[];
  test: boolean;
}

export interface Updated {
  provider: Provider;
  changed: boolean;
  /** Agents whose rendering is another one now. */
  agents: Agent[];
  check?: Check;
}

/** Update: other answers for a provider. Agents that use it must be configured and proven anew. */
export async function updateProvider(session: Session, name: string, change: ProviderChange): Promise<Updated> {
  const before = findProvider(session.providers.read(), name);
  const type = await findType(session.configDir, before.type);
  mayBeUnset(type, change.unset);
  const given = await checkGiven(session, type, change);
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
  const dropped = [...change.unset, ...Object.keys(given.references)];
  const secrets = { ...without(stored, dropped), ...given.secrets };
  const after = changed(before);
  const sameKeys = same(stored, secrets);
  if (isDeepStrictEqual(after, before) && sameKeys) return { provider: before, changed: false, agents: [] };

  // The question is about address and key: another model gives it no other answer.
  const matters = !sameKeys || !isDeepStrictEqual({ ...after, model: "" }, { ...before, model: "" });
  const check =
    change.test && matters ? await tried(session, name, type, after, { ...secrets, ...given.fetched }) : undefined;
  const agents = usersOf(session.hosts.read(), name);
  const updated_at = session.now().toISOString();
  const deed = { verb: "provider update", target: name, summary: `update provider ${name}` };
  await session.gate.pass(deed, () =>
    session.inFleet(async () => {
      findProvider(session.providers.read(), name);
      // The agents first and the record last: whatever cuts this short, the same command does the rest.
      await setBack(session, usersOf(session.hosts.read(), name), "validate");
      await keepSecrets(session, name, type, secrets);
      await session.providers.update(({ providers, ...rest }) => ({
        ...rest,
        providers: { ...providers, [name]: { ...changed(findProvider({ providers }, name)), updated_at } },
      }));
    }),
  );
  return { provider: { ...after, updated_at }, changed: true, agents, ...(check && { check }) };
}

async function tried(
  session: Session,
  name: string,
  type: KnownType,
  after: Provider,
  secrets: Record<string, Secret>,
): Promise<Check> {
  // References that stay as they were have not been fetched yet.
  const references = without(after.references ?? {}, Object.keys(secrets));
  const fetched = await secretsOf(session, name, type, { references });
  const check = await tryProvider(session, name, type, valuesOf(type, after.fields, { ...fetched, ...secrets }));
  if (check.result === "fail") throw notStored(session, `provider ${name} was not changed`, check);
  return check;
}

function same(one: Record<string, Secret>, other: Record<string, Secret>): boolean {
  const names = Object.keys({ ...one, ...other });
  return names.every((name) => one[name]?.reveal() === other[name]?.reveal());
}

function mayBeUnset(type: KnownType, names: string[]): void {
  for (const name of names.filter((each) => each !== "model")) {
    const field = fieldOf(type, name);
    if (!field.required) continue;
    throw new Fault("bad-input", `${type.name} cannot do without ${name}`, {
      why: `give another one with ${flagFor(type, field)}`,
    });
  }
}

function mustNotBeBoth({ unset, model }: ProviderChange, given: Record<string, unknown>): void {
  const both = unset.find((name) => Object.hasOwn(given, name) || (name === "model" && model !== undefined));
  if (both) throw new Fault("usage", `${both} is given and unset at once`, { next: "clm provider update --help" });
}

const without = <V>(record: Record<string, V>, names: string[]): Record<string, V> =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
