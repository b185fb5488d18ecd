import { errorOf, Fault } from "../../errors.js";
import { settingsFor } from "../../flows/gateway/config.js";
import { defaultGatewayUrl } from "../../flows/gateway/defaults.js";
import { type GatewayEvent, serveGateway } from "../../flows/gateway/serve.js";
import { withSession } from "../../flows/session.js";
import { withMembers } from "../../text/with-members.js";
import { jsonLine } from "../../ui/format.js";
import type { Ui } from "../../ui/ui.js";
import type { Context, Handler } from "../command.js";
import type { serve } from "./commands.js";

// Milliseconds to connect to a host: requests wait as long.
const timeout = 5000;

export const run: Handler<typeof serve> = async ({ options }, clm) => {
  const settings = await settingsFor(options);
  const { ui, ready } = promptUntilReady(clm.ui);
  clm.untilStopped();
  // Requests in flight may end, within the configured time.
  clm.mayTakeToStop(settings.drain * 1000 + 5000);
  await withSession({ ...clm, ui, timeout }, (session) =>
    serveGateway(session, { settings, ready, tell: (happening) => tell(clm, happening) }),
  );
};

/** Prompts for passwords until the gateway is ready, and never after: a request would wait for an answer that may not come. */
function promptUntilReady(ui: Ui): { ui: Ui; ready(): void } {
  let isReady = false;
  const askSecret: Ui["askSecret"] = (question) => {
    if (!isReady) return ui.askSecret(question);
    throw new Fault("needs-answer", `no prompt while the gateway serves: ${question.message}`, {
      next: "clm gateway serve",
    });
  };
  const ready = () => {
    isReady = true;
  };
  return { ui: withMembers(ui, { askSecret }), ready };
}

/** Prints an event: a sentence for a person, one line of JSON for a program. */
function tell(clm: Context, happening: GatewayEvent): void {
  if (clm.format === "json") clm.ui.data(machine(clm, happening), jsonLine);
  else showEvent(clm, happening);
}

function showEvent({ ui }: Context, happening: GatewayEvent): void {
  if (happening.event === "ready") {
    const { url, agents } = happening;
    ui.out(`${url}/v1\n`);
    ui.note(`the gateway serves ${agents} agent${agents === 1 ? "" : "s"} until Ctrl-C`);
    ui.note("  create a key:         clm gateway key create --name NAME --agents '*' --role chat");
    ui.note(`  settings for a tool:  clm gateway env KEY${url === defaultGatewayUrl ? "" : ` --url ${url}`}`);
  } else if (happening.event === "lost") {
    const { message, code, why } = happening.why;
    ui.warn(`${message}; retried with the next request [${code}]`);
    for (const line of why) ui.note(`  ${line}`);
  } else if (happening.event === "back") ui.note(`${happening.host} is back`);
  else if (happening.event === "stopping") {
    const { requests } = happening;
    if (requests > 0)
      ui.note(`waiting for ${requests} request${requests === 1 ? "" : "s"} to end; Ctrl-C again cuts them off`);
  } else ui.note("the gateway has stopped");
}

function machine({ now }: Context, happening: GatewayEvent): object {
  const { event } = happening;
  const at = now().toISOString();
  if (event === "lost") return { event, at, host: happening.host, error: errorOf(happening.why) };
  if (event === "ready") return { event, at, url: `${happening.url}/v1`, agents: happening.agents };
  if (event === "stopping") return { event, at, requests: happening.requests };
  return { event, at, ...(event === "back" && { host: happening.host }) };
}
