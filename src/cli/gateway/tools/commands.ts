import { defaultGatewayUrl } from "../../../flows/gateway/defaults.js";
import { choice, command, required, text } from "../../command.js";
import { tools } from "./client-tools.js";

export const toolChoices = [...tools, "all"] as const;

export const env = command({
  path: "gateway env",
  summary: "print the settings that make tools use a key",
  description: `For Codex, Aider, Cline, curl and the openai libraries. The key itself cannot be printed, because only
its hash is stored: the settings read it from the variable CLM_GATEWAY_KEY. For a signed key they point to 'clm
gateway sign-proxy'. Nothing is contacted: the models are the agents that the key may use, as recorded; the first one
that has answered before is the default.`,
  args: { key: required("the key's name or id") },
  options: {
    tool: choice("TOOL", toolChoices, "print the settings for this tool", { default: "all" }),
    url: text("URL", `URL of the gateway (default: ${defaultGatewayUrl})`),
    model: text("MODEL", "AGENT, HOST/AGENT or AGENT/proxy/MODEL (default: an agent the key may use)"),
  },
  formats: ["table", "json", "yaml"],
  examples: [
    "clm gateway env ci",
    "clm gateway env ci --tool codex --model hermes-test",
    "clm gateway env ci --tool curl -o json | jq -r '.settings[0].text'",
  ],
  load: () => import("./env.js"),
});
