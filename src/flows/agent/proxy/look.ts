import type { ProxyType } from "../../../agents/proxy/proxy.js";
import { lookTimeout, type ProxySeen, type ProxySight, proxyScript, proxySeenBy } from "../../../agents/proxy/seen.js";
import type { Subject } from "../../../agents/subject.js";
import { Fault } from "../../../errors.js";
import { askHost } from "../../../remote/ask-host.js";
import type { Shell } from "../../../remote/process.js";
import type { Session } from "../../session.js";

/** Looks at an agent's proxy in one exec. */
export async function lookAtProxy(
  { signal, ui }: Session,
  root: Shell,
  subject: Subject,
  type: ProxyType,
  sight: ProxySight,
): Promise<ProxySeen> {
  const asking = { host: subject.host, what: `how the proxy of ${subject.name} is`, timeout: lookTimeout, signal };
  const { words, logins, ...seen } = await askHost(root, proxyScript(subject, type, sight), asking, proxySeenBy(type));
  // Both are what the agent's program chose to say.
  const plain = (text: string) =>
    ui
      .redact(text)
      .replace(/\p{Cc}/gu, " ")
      .slice(0, 300);
  return {
    ...seen,
    words: words.map(plain),
    logins: logins.map((login) => ({ ...login, state: plain(login.state) })),
  };
}

/** A unit of that name which runs as somebody else is another agent's, or another program's. */
export function mustBeItsUnit(
  { user, host, name }: Subject,
  unit: string,
  { runsAs, unit: { LoadState } }: ProxySeen,
): void {
  if (LoadState !== "loaded" || runsAs === user) return;
  throw new Fault("in-use", `${unit} on ${host} is not the proxy of ${name}; nothing was changed`, {
    why: `it runs as ${runsAs || "root"}, and not as ${user}`,
    next: `clm host exec ${host} --sudo -- systemctl cat ${unit}`,
  });
}
