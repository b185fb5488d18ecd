import type { ResolvedAgent } from "../../agents/plan/resolved-agent.js";
import { errorOf, type Fault } from "../../errors.js";
import { tunnelToApi } from "../../flows/tunnel/api.js";
import { curlLine } from "../../flows/tunnel/curl-line.js";
import type { TunnelEvent } from "../../flows/tunnel/keep-tunnel-open.js";
import { jsonLine } from "../../ui/format.js";
import type { Context, Handler } from "../command.js";
import { detailsOf } from "../print-result.js";
import type { tunnel } from "./commands.js";

export const run: Handler<typeof tunnel> = async ({ args, options }, clm) => {
  const { env, elsewhere: configDir } = clm;
  await clm.withSession((session) =>
    tunnelToApi(session, args.name, options, (happening, agent) => {
      const { ref, host, name, manifest } = agent;
      const ready = (url: string) => curlLine({ ref: ref, url: `${url}${manifest.api.models}`, env, configDir });
      printEvent(clm, happening, { resolved: agent, what: `${name} on ${host}`, ready });
    }),
  );
};

interface TunnelDescription {
  resolved: ResolvedAgent;
  /** In a sentence: `ada on wolf-i`. */
  what: string;
  /** A command to try it with, given its address. */
  ready?: (url: string) => string;
  /** An instruction for when it is open again. */
  afterwards?: string;
}

/** Prints an event: a sentence for a person, one line of JSON for a program. */
export function printEvent(clm: Context, happening: TunnelEvent, opened: TunnelDescription): void {
  if (clm.format === "json") clm.ui.data(machine(clm, happening, opened), jsonLine);
  else showEvent(clm, happening, opened);
}

function showEvent({ ui }: Context, happening: TunnelEvent, { what, ready, afterwards }: TunnelDescription): void {
  const { event } = happening;
  if (event === "open") {
    const url = urlOf(happening.port);
    ui.out(`${url}\n${ready ? `${ready(url)}\n` : ""}`);
    ui.note(`${what} is open here until Ctrl-C`);
  } else if (event === "lost") trouble(ui, happening.why, "; trying again");
  else if (event === "waiting") trouble(ui, happening.why);
  else if (event === "back") ui.note(`${what} is back${afterwards ? `; ${afterwards}` : ""}`);
  else ui.note(`${what} is closed`);
}

function trouble(ui: Context["ui"], fault: Fault, more = ""): void {
  ui.warn(`${fault.message}${more} [${fault.code}]`);
  for (const line of detailsOf(fault)) ui.note(`  ${line}`);
}

function machine(
  { now }: Context,
  happening: TunnelEvent,
  { resolved: { host, name }, ready }: TunnelDescription,
): object {
  const said = { event: happening.event, at: now().toISOString(), host, name };
  if ("port" in happening) {
    const url = urlOf(happening.port);
    return { ...said, url, ...(ready && { curl: ready(url) }) };
  }
  if (!("why" in happening)) return said;
  return { ...said, error: errorOf(happening.why) };
}

export const urlOf = (port: number): string => `http://127.0.0.1:${port}`;
