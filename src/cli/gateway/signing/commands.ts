import { defaultGatewayUrl, defaultSignProxyPort } from "../../../flows/gateway/defaults.js";
import { choice, command, flag, number, text } from "../../command.js";
import { toolChoices } from "../tools/commands.js";

export const signProxy = command({
  path: "gateway sign-proxy",
  summary: "sign requests for tools that cannot",
  description: `Listens on a port of 127.0.0.1 until Ctrl-C, signs every request that a tool sends there, and forwards
it to the gateway; answers are streamed back. For keys created with --signed: such a key is never sent, and an
intercepted request cannot be replayed.

The key comes from --key-file, --key-env or stdin and is never an argument. Everyone with an account on this machine
can connect to the port, so tools must send a local key as their bearer token: a random one, printed once as part of
the settings, or your own with --local-key. The local key never leaves this machine; the tool's Authorization header
is dropped. --open requires no local key: then every user and program on this machine can spend the budget of the
gateway key.

A gateway on another machine must use https; set NODE_EXTRA_CA_CERTS to trust a certificate of your own. With -o json
one line is printed when the proxy is ready, including the local key.`,
  options: {
    keyFile: text("FILE", "read the gateway key from FILE", { completes: "file" }),
    keyEnv: text("NAME", "read the gateway key from this environment variable"),
    to: text("URL", `URL of the gateway (default: ${defaultGatewayUrl})`),
    port: number("PORT", `port on this machine (default: ${defaultSignProxyPort}, or any free port)`, {
      min: 1,
      max: 65535,
    }),
    localKey: text(
      "SOURCE",
      "the key tools must send: env:NAME, file:PATH or cmd:COMMAND (default: a random one, printed once)",
    ),
    open: flag("require no local key: every user of this machine can use the gateway key"),
    tool: choice("TOOL", toolChoices, "print the settings for this tool", { default: "shell" }),
  },
  formats: ["table", "json"],
  examples: [
    "clm gateway sign-proxy --key-file ~/.clm-gateway-key",
    "clm gateway sign-proxy --key-env CLM_SIGNED_KEY --tool codex",
    "clm gateway sign-proxy --key-file key --local-key file:local-key --port 4142   # the tools keep their settings",
    "clm gateway sign-proxy --to https://gateway.example:4141 < key   # a gateway on another machine",
  ],
  load: () => import("./sign-proxy.js"),
});
