import text from "../../../templates/hermes/proxy.service.hbs?raw";
import { type UnitOperation, unit } from "../../remote/operations/operation.js";
import { fileTemplate } from "../../render/file-template.js";
import { unitArgument, unitPath, unitWord } from "../../render/systemd-quote.js";
import { fill } from "../../render/template.js";
import { environmentOf } from "../environment.js";
import type { Subject } from "../subject.js";
import { hardeningOf } from "../unit-file.js";
import { inRange } from "../versions.js";
import { type AgentProxy, type ProxyType, proxyOf, proxyProviders } from "./proxy.js";

const template = fileTemplate<Record<string, unknown>>(text, { word: unitWord, path: unitPath });

/**
 * The proxy's unit: up, and up again after a boot. It lends a login that is the agent's and needs nothing else of it, so
 * it does not go down when the agent does. Nothing is wished for that the agent's version cannot run: it may be an earlier one
 * than that of the record.
 */
export function proxyWish(subject: Subject, systemd: number): UnitOperation[] {
  const proxy = proxyOf(subject);
  const type = subject.manifest.proxy;
  if (!proxy || !type || !inRange(subject.version, type.when)) return [];
  if (!proxyProviders(subject, type).includes(proxy.provider)) return [];
  return [unit(proxy.unit, { content: unitFile(subject, proxy, type, systemd), enabled: true, state: "started" })];
}

/** As closed in as the agent; that of one with more room too, for neither a browser nor Codex runs in it. */
function unitFile(
  { runtime: _, ...subject }: Subject,
  { provider, port }: AgentProxy,
  type: ProxyType,
  systemd: number,
): string {
  const { manifest, name, user, places } = subject;
  const words = type.args.map((arg) => fill(arg, { provider, port }) ?? arg);
  return template({
    description: `${manifest.title} ${name}, proxy to ${provider}`.replaceAll("%", "%%"),
    user,
    home: places.home,
    environment: Object.entries(environmentOf(subject)).map(([key, value]) => `${key}=${value}`),
    command: [unitWord(places.launcher), ...words.map(unitArgument)].join(" "),
    hopeless: type.hopeless.join(" "),
    hardening: hardeningOf({ ...subject, relaxed: false }, systemd),
  });
}
