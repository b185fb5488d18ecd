import type { UpstreamDialect } from "../../chat/upstream.js";
import { streamsText } from "../codex/runtime.js";
import { withContentParts } from "./content-parts.js";
import { hermesFailures } from "./failures.js";
import { withoutOwnToolEvents, withoutOwnTools, withoutToolProgress } from "./own-tools.js";

const upstream: UpstreamDialect = {
  paths: ["/v1/chat/completions", "/v1/responses"],
  maxBodyBytes: 10_000_000,
  // Hermes' server closes a connection after 75 s of silence.
  idleTimeout: 30_000,
  // Newer versions take them.
  removedMembers: ["provider", "model_options"],
  sessionHeaders: { session: "x-hermes-session-id", sessionKey: "x-hermes-session-key" },
  headerPrefix: "x-hermes-",
  errorHeader: "x-hermes-error",
  derivedSession: /^api-[0-9a-f]+$/,
  eventRewriter(path) {
    if (path === "chat") return withoutToolProgress;
    const [withoutTools, withParts] = [withoutOwnToolEvents(), withContentParts()];
    return (event) => withParts(withoutTools(event));
  },
  rewriteResponse: withoutOwnTools,
  agent: (agent) => ({ signs: hermesFailures(agent.manifest), streams: streamsText(agent) }),
};

export default upstream;
