import { own } from "../text/own-property.js";
import type { AgentRuntime } from "./agent-runtime.js";
import type { ChatDialect } from "./chat/dialect.js";
import type { UpstreamDialect } from "./chat/upstream.js";
import type { HandoffStore } from "./handoff/store.js";
import type { Manifest } from "./manifest/manifest.js";
import { noCapability } from "./manifest/no-capability.js";
import type { MemoryFormat } from "./memory/memory.js";
import type { Renderer } from "./plan/desired-state.js";
import type { SessionStore } from "./sessions/sessions.js";

/** Loads a capability when a command needs it, so that no command pays for code it does not run. */
export type Load<T> = () => Promise<T>;

/**
 * What clm has to know about a type of agent beyond its manifest: code that data cannot replace. A capability that a
 * type lacks is absent, and the verbs that need it say so.
 */
export interface AgentType {
  readonly name: string;
  /** `clm chat` and the chat proof. */
  readonly chat?: Load<ChatDialect>;
  /** The gateway. */
  readonly upstream?: Load<UpstreamDialect>;
  readonly handoff?: Load<HandoffStore>;
  readonly memory?: Load<MemoryFormat>;
  readonly sessions?: Load<SessionStore>;
  /** Programs that can run the turns of an agent, by the name they have in the manifest. */
  readonly runtimes?: Readonly<Record<string, Load<AgentRuntime>>>;
  renderer: Load<Renderer>;
}

export type Capability = Exclude<keyof AgentType, "name" | "runtimes">;
type Loaded<K extends Capability> = Awaited<ReturnType<NonNullable<AgentType[K]>>>;

/** The code behind a manifest: the type's own, or for a user's type that of the built-in type it names in `like`. */
export async function agentType({ type, like = type }: Pick<Manifest, "type" | "like">): Promise<AgentType> {
  const { default: builtInTypes } = await import("clm:agent-types");
  const found = own(builtInTypes, like);
  if (!found) throw new Error(`no built-in type is called ${like}`);
  return found.load();
}

/** A capability of an agent's type; a fault when the type does not have it. */
export async function capability<K extends Capability>(manifest: Manifest, name: K): Promise<Loaded<K>> {
  const load = (await agentType(manifest))[name] as Load<Loaded<K>> | undefined;
  if (load) return load();
  throw noCapability(manifest, name);
}

export async function agentRuntime(manifest: Manifest, name: string): Promise<AgentRuntime> {
  const load = own((await agentType(manifest)).runtimes, name);
  if (load) return load();
  throw noCapability(manifest, `runtime ${name}`);
}

/** Capabilities that only the manifest describes. */
const inManifest = ["dashboard", "proxy"] as const;

export const capabilitiesOf = async (manifest: Manifest): Promise<string[]> => {
  const { name: _, renderer: __, ...members } = await agentType(manifest);
  return [...Object.keys(members), ...inManifest.filter((member) => manifest[member])].sort();
};
