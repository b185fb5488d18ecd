import { withSession } from "../../flows/session.js";
import { tunnelToApi } from "../../flows/tunnel/api.js";
import { curlLine } from "../../flows/tunnel/curl-line.js";
import type { Handler } from "../command.js";
import type { tunnel } from "./commands.js";
import { tell } from "./tell.js";

export const run: Handler<typeof tunnel> = async ({ args, options }, clm) => {
  const { env, elsewhere: configDir } = clm;
  await withSession({ ...clm, sudoPasswordFile: options.sudoPasswordFile }, (session) =>
    tunnelToApi(session, args.name, options, (happening, subject) => {
      const { word, host, name, manifest } = subject;
      const ready = (url: string) => curlLine({ word, url: `${url}${manifest.api.models}`, env, configDir });
      tell(clm, happening, { subject, what: `${name} on ${host}`, ready });
    }),
  );
  return 0;
};
