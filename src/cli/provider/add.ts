import { Fault } from "../../errors.js";
import { findType } from "../../flows/provider/types.js";
import { valuesOf } from "../../flows/provider/values.js";
import type { Session } from "../../flows/session.js";
import { providerNameFrom } from "../../names.js";
import type { Provider, Providers } from "../../state/providers.js";
import type { Handler } from "../command.js";
import { type AnswerOptions, answersFrom, askMissing, checkAnswers } from "./answers.js";
import type { add } from "./commands.js";
import { mustWork, printCheck, storeSecrets } from "./store.js";
import { providerView, rowOf } from "./view.js";

export const run: Handler<typeof add> = async ({ args, options }, clm) => {
  const name = providerNameFrom(args.name);
  const answers = answersFrom("clm provider add", options);
  await clm.withSession(async (session) => {
    const type = options.type ?? (await clm.ui.ask({ message: "Type (see clm provider types):", flag: "--type TYPE" }));
    const { provider, check } = await addProvider(session, name, type, answers, !options.noTest);
    printCheck(clm.ui, check);
    clm.list([rowOf(name, provider, { fleet: session.hosts.read(), secrets: session.secrets })], providerView);
  });
};

async function addProvider(session: Session, name: string, typeName: string, options: AnswerOptions, test: boolean) {
  mustBeFree(session.providers.read(), name);
  const type = await findType(session.configDir, typeName);
  const answers = await askMissing(session, type, await checkAnswers(session, type, options));
  const { fields, secrets, fetched, references } = answers;
  const values = valuesOf(type, fields, { ...secrets, ...fetched });
  const check = test ? await mustWork(session, name, type, values, `provider ${name} was not added`) : undefined;

  const at = session.now().toISOString();
  const provider: Provider = {
    type: type.name,
    fields,
    ...(options.model && { model: options.model }),
    ...(Object.keys(references).length > 0 && { references }),
    added_at: at,
    updated_at: at,
  };
  await session.gate.pass({ verb: "provider add", target: name, summary: `add provider ${name} (${type.name})` }, () =>
    session.withFleetLock(async () => {
      mustBeFree(session.providers.read(), name);
      // The record comes last: an interrupted run can simply be repeated.
      await storeSecrets(session, name, type, secrets);
      await session.providers.update(({ providers, ...rest }) => ({
        ...rest,
        providers: { ...providers, [name]: provider },
      }));
    }),
  );
  return { provider, check };
}

function mustBeFree({ providers }: Providers, name: string): void {
  if (!Object.hasOwn(providers, name)) return;
  throw new Fault("already-exists", `a provider called ${name} already exists`, {
    next: [`clm provider show ${name}`, `clm provider update ${name} --help`],
  });
}
