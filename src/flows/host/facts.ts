import type { Facts } from "../../remote/facts.js";
import type { HostFacts } from "../../state/hosts.js";

/** Facts as they are written down: what lasts longer than the moment, and when it was seen. */
export function recordedFacts(facts: Facts, seen: Date): HostFacts {
  const { user, sudo, memory_free_mb, system_state, clock_ahead, ...lasting } = facts;
  return { ...lasting, seen_at: seen.toISOString() };
}
