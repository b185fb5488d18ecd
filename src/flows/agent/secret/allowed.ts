import { isStripped, type Use, useOf } from "../../../agents/manifest/secret-names.js";
import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { Fault } from "../../../errors.js";
import { ownedNames } from "../../../state/agent.js";
import { secretOwner } from "../../../state/agents.js";
import { own } from "../../../text/own-property.js";
import type { Session } from "../../session.js";
import type { AgentTarget } from "../target.js";

/** Refuses a name that clm sets, and names the command that changes it. */
export function mustBeUserVariable(session: Session, { agent, resolved }: AgentTarget, name: string): void {
  if (!/^[A-Z][A-Z0-9_]{0,127}$/.test(name)) {
    // The text after the = may be the secret itself.
    throw new Fault("bad-input", `Invalid secret key '${name.replace(/=.*$/s, "=…")}'`, {
      why: "must start with uppercase letter, contain only uppercase letters, digits, and underscores, and be at most 128 characters",
    });
  }
  const use = useOf(resolved.manifest, name);
  const rendered =
    ownedNames(agent.record).env?.includes(name) && !session.secrets.names(secretOwner(agent)).includes(name);
  const refusal = refusalFor(use, agent.ref, isApiKey(resolved, name), rendered === true);
  if (!refusal) return;
  throw new Fault("bad-input", `${name} cannot be set: it is managed by clm`, { ...refusal, data: { name } });
}

/** The API key, under its name in secrets.json, during a rotation, or on the host. */
const isApiKey = ({ manifest }: ResolvedAgent, name: string): boolean =>
  (manifest.api.secret !== undefined && name.startsWith(manifest.api.secret)) ||
  manifest.render.some(({ env }) => own(env, name)?.includes("{{api_key}}"));

function refusalFor(
  use: Use,
  agent: string,
  key: boolean,
  rendered: boolean,
): { why: string; next: string } | undefined {
  switch (use.kind) {
    case "own":
      return key
        ? { why: "it is the key of the agent's API, which clm generates", next: `clm agent rotate-key ${agent}` }
        : { why: "clm sets it itself, or the service needs it as it is", next: `clm agent configure ${agent}` };
    case "channel":
      return { why: `it belongs to the channel ${use.of}`, next: `clm agent configure ${agent} --stage channels` };
    case "mcp":
      return { why: `it belongs to the MCP server ${use.of}`, next: `clm agent configure ${agent} --stage channels` };
    case "provider":
      return rendered ? { why: `the agent's provider sets it`, next: "clm provider update --help" } : undefined;
    default:
      return undefined;
  }
}

/** Remarks on allowed names; `stripped` are those that the agent's own commands never get. */
export function remarksOn(
  { agent, resolved }: AgentTarget,
  names: Iterable<string>,
): { stripped: string[]; texts: string[] } {
  const { manifest } = resolved;
  const all = [...names];
  const stripped = all.filter((name) => isStripped(manifest, name));
  const keys = all.flatMap((name) => {
    const use = useOf(manifest, name);
    if (use.kind !== "provider") return [];
    return `${name} is the key of a provider (${use.of}): older versions of ${manifest.title} may send it to another one's address`;
  });
  return { stripped, texts: [...keys, ...stripped.map((name) => strippedText(name, manifest.title, agent.ref))] };
}

const strippedText = (name: string, title: string, agent: string): string =>
  `${title} strips ${name} from the environment of the commands that the agent runs (it knows the name); ` +
  `for its shell, use a name that it does not know: clm agent secret set ${agent} MY_${name}`;
