import { Fault } from "../../errors.js";
import { sh } from "../../quote.js";
import type { Provider, Providers } from "../../state/providers.js";
import type { Check } from "../host/check.js";
import type { Session } from "../session.js";
import { askMissing, checkGiven, type Given } from "./answers.js";
import { keepSecrets } from "./keep.js";
import { tryProvider } from "./test.js";
import { findType } from "./types.js";
import { valuesOf } from "./values.js";

export interface ProviderWish extends Given {
  name: string;
  /** As the user says it: a type's name or another it goes by. */
  type: string;
  /** Ask the service first; what it refuses is not stored. */
  test: boolean;
}

/** Add: what a provider needs is asked, tried and then stored, its secrets apart. */
export async function addProvider(
  session: Session,
  wish: ProviderWish,
): Promise<{ provider: Provider; check?: Check }> {
  const { name } = wish;
  mustBeFree(session.providers.read(), name);
  const type = await findType(session.configDir, wish.type);
  const { fields, secrets, fetched, references } = await askMissing(
    session,
    type,
    await checkGiven(session, type, wish),
  );
  const values = valuesOf(type, fields, { ...secrets, ...fetched });
  const check = wish.test ? await tryProvider(session, name, type, values) : undefined;
  if (check?.result === "fail") throw notStored(session, `provider ${name} was not added`, check);

  const at = session.now().toISOString();
  const provider: Provider = {
    type: type.name,
    fields,
    ...(wish.model && { model: wish.model }),
    ...(Object.keys(references).length > 0 && { references }),
    added_at: at,
    updated_at: at,
  };
  const deed = { verb: "provider add", target: name, summary: `add provider ${name} (${type.name})` };
  await session.gate.pass(deed, () =>
    session.inFleet(async () => {
      mustBeFree(session.providers.read(), name);
      // The record comes last: until it is there, the same command does all of it again.
      await keepSecrets(session, name, type, secrets);
      await session.providers.update(({ providers, ...rest }) => ({
        ...rest,
        providers: { ...providers, [name]: provider },
      }));
    }),
  );
  return { provider, ...(check && { check }) };
}

function mustBeFree({ providers }: Providers, name: string): void {
  if (!Object.hasOwn(providers, name)) return;
  throw new Fault("already-exists", `there is a provider called ${name} already`, {
    next: [`clm provider show ${name}`, `clm provider update ${name} --help`],
  });
}

/** A test that failed, as a fault that says how to store it all the same. */
export function notStored({ argv }: Session, what: string, { reason, fix }: Check): Fault {
  return new Fault("check-failed", `${what}: ${reason}`, {
    why: [...(fix ? [fix] : []), "--no-test stores it without asking"],
    next: sh`clm ${argv} --no-test`,
    data: { reason },
  });
}
