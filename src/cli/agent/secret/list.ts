import { useOf } from "../../../agents/manifest/secret-names.js";
import { type AgentTarget, targetOf } from "../../../flows/agent/target.js";
import { ownedNames } from "../../../state/agent.js";
import { secretOwner } from "../../../state/agents.js";
import { age } from "../../../ui/time.js";
import type { Handler } from "../../command.js";
import type * as declared from "./commands.js";

export const list: Handler<typeof declared.list> = ({ args }, clm) =>
  clm.withSession(async (session) => {
    const target = await targetOf(session, args.name);
    const secrets = session.secrets
      .described(secretOwner(target.agent))
      .map(({ name, created_at, updated_at }) => ({ name, used_by: userOf(target, name), created_at, updated_at }));
    const now = clm.now();
    clm.list(secrets, {
      columns: [
        { title: "name", value: ({ name }) => name, whole: true },
        { title: "used by", value: ({ used_by }) => used_by },
        { title: "created", value: ({ created_at }) => `${age(created_at, now)} ago`, drop: 1 },
        { title: "updated", value: ({ updated_at }) => `${age(updated_at, now)} ago`, drop: 2 },
      ],
      name: ({ name }) => name,
      empty: `${args.name} has no secrets.`,
    });
  });

function userOf({ agent: { record }, resolved: { manifest } }: AgentTarget, name: string): string {
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
