/** The types that come with clm, by name: each folder of src/agents with a type.ts. Made by scripts/agent-types.mjs. */
declare module "clm:agent-types" {
  const types: Record<string, { manifest: string; load: () => Promise<import("./type.js").AgentType> }>;
  export default types;
}
