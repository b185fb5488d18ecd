import { useOf } from "../../../agents/manifest/secret-names.js";
import { ownedNames } from "../../../state/agent.js";
import { secretOwner } from "../../../state/agents.js";
import type { SecretInfo } from "../../../state/secrets.js";
import type { Session } from "../../session.js";
import { type Target, targetOf } from "../target.js";

/** A secret as it is listed: everything but its value. */
export interface Listed extends Omit<SecretInfo, "description"> {
  /** What it is for. */
  used_by: string;
}

export async function listSecrets(
  session: Pick<Session, "hosts" | "configDir" | "secrets">,
  word: string,
): Promise<Listed[]> {
  const target = await targetOf(session, word);
  return session.secrets
    .described(secretOwner(target.agent))
    .map(({ name, created_at, updated_at }) => ({ name, used_by: userOf(target, name), created_at, updated_at }));
}

function userOf({ agent: { record }, resolved: { manifest } }: Target, name: string): string {
  const use = useOf(manifest, name);
  switch (use.kind) {
    case "own":
      return name === manifest.api.secret ? "the agent's API" : "the agent's API, once it is the key";
    case "channel":
      return record.channels?.[use.of] ? `channel ${use.of}` : `nothing (channel ${use.of} is not configured)`;
    case "mcp":
      return record.mcp?.[use.of] ? `MCP server ${use.of}` : `nothing (MCP server ${use.of} is not configured)`;
    default:
      return ownedNames(record).env?.includes(name) ? ".env" : ".env, once configured";
  }
}
