import { defaultGatewayUrl, tools } from "../../../flows/gateway/defaults.js";
import { choice, command, required, text } from "../../command.js";

export const toolChoices = [...tools, "all"] as const;

export const env = command({
  path: "gateway env",
  summary: "print settings with which tools use a key",
  description: `For Codex, Aider, Cline, curl and the openai libraries. The key itself cannot be shown, because only a hash of it is kept: the settings
read it from the variable CLM_GATEWAY_KEY. For a key that demands signatures they lead to 'clm gateway sign-proxy'. Nobody is
contacted: the models are the agents that the key may use, as they are recorded, and the first that was seen to answer is chosen.`,
  args: { key: required("the key's name or id") },
  options: {
    tool: choice("TOOL", toolChoices, "whose settings", { default: "all" }),
    url: text("URL", `the gateway (default: ${defaultGatewayUrl})`),
    model: text("MODEL", "AGENT, HOST/AGENT or AGENT/proxy/MODEL (default: an agent the key may use)"),
  },
  formats: ["table", "json", "yaml"],
  examples: [
    { run: "clm gateway env ci" },
    { run: "clm gateway env ci --tool codex --model hermes-test" },
    { run: "clm gateway env ci --tool curl -o json | jq -r '.settings[0].text'" },
  ],
  load: () => import("./env.js"),
});
