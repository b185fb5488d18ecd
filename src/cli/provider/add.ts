import { addProvider } from "../../flows/provider/add.js";
import { withSession } from "../../flows/session.js";
import { providerNameFrom } from "../../names.js";
import type { Handler } from "../command.js";
import { givenIn } from "./answers.js";
import type { add } from "./commands.js";
import { tellCheck } from "./tell.js";
import { providerView, rowOf } from "./view.js";

export const run: Handler<typeof add> = async ({ args, options }, clm) => {
  const name = providerNameFrom(args.name);
  const given = givenIn("clm provider add", options);
  await withSession(clm, async (session) => {
    const type = options.type ?? (await clm.ui.ask({ message: "Type (see clm provider types):", flag: "--type TYPE" }));
    const { provider, check } = await addProvider(session, { ...given, name, type, test: !options.noTest });
    tellCheck(clm.ui, check);
    clm.list([rowOf(name, provider, { fleet: session.hosts.read(), secrets: session.secrets })], providerView);
  });
  return undefined;
};
