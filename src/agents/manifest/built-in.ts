import types from "clm:agent-types";

/** The types that come with clm, by name: one for each folder of `src/agents` that has a `type.ts`. */
export const builtInTypes = types;
