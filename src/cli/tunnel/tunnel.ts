import { withSession } from "../../flows/session.js";
import { tunnelToApi } from "../../flows/tunnel/api.js";
import { curlLine } from "../../flows/tunnel/curl-line.js";
import type { Handler } from "../command.js";
import type { tunnel } from "./commands.js";
import { printEvent } from "./print-event.js";

export const run: Handler<typeof tunnel> = async ({ args, options }, clm) => {
  const { env, elsewhere: configDir } = clm;
  await withSession(clm, (session) =>
    tunnelToApi(session, args.name, options, (happening, agent) => {
      const { ref, host, name, manifest } = agent;
      const ready = (url: string) => curlLine({ ref: ref, url: `${url}${manifest.api.models}`, env, configDir });
      printEvent(clm, happening, { resolved: agent, what: `${name} on ${host}`, ready });
    }),
  );
};
