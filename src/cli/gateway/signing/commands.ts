import { defaultGatewayUrl, defaultSignProxyPort } from "../../../flows/gateway/defaults.js";
import { choice, command, flag, number, text } from "../../command.js";
import { toolChoices } from "../tools/commands.js";

export const signProxy = command({
  path: "gateway sign-proxy",
  summary: "sign requests for tools that cannot",
  description: `Opens a port on 127.0.0.1 here, until Ctrl-C. What a tool sends there is signed with the key and passed to the gateway; answers come
back as they come. For keys made with --signed: such a key never travels, and what is caught on the way is of no use a second time.

The key comes from --key-file, --key-env or stdin and is never an argument. Whoever has an account on this machine can connect to the
port, so a tool must send a local key as its bearer: a random one that is shown once, as part of the settings, or one of your own with
--local-key. It goes no further than this machine; the tool's own Authorization is dropped. --open asks for none, and then every user
and program of this machine can spend what the key may spend.

A gateway on another machine is reached with https only; a certificate of your own is trusted with NODE_EXTRA_CA_CERTS. With -o json
one line is printed when it is ready, with the local key in it.`,
  options: {
    keyFile: text("FILE", "read the gateway key from FILE", { completes: "file" }),
    keyEnv: text("NAME", "take the gateway key from this variable"),
    to: text("URL", `the gateway (default: ${defaultGatewayUrl})`),
    port: number("PORT", `port here (default: ${defaultSignProxyPort}, or any that is free)`, { min: 1, max: 65535 }),
    localKey: text(
      "SOURCE",
      "what tools must send: env:NAME, file:PATH or cmd:COMMAND (default: a random one, shown once)",
    ),
    open: flag("ask tools for no local key: every user of this machine can use the gateway key"),
    tool: choice("TOOL", toolChoices, "settings to print", { default: "shell" }),
  },
  formats: ["table", "json"],
  examples: [
    { run: "clm gateway sign-proxy --key-file ~/.clm-gateway-key" },
    { run: "clm gateway sign-proxy --key-env CLM_SIGNED_KEY --tool codex" },
    {
      run: "clm gateway sign-proxy --key-file key --local-key file:local-key --port 4142",
      note: "settings of tools stay as they are",
    },
    { run: "clm gateway sign-proxy --to https://gateway.example:4141 < key", note: "a gateway on another machine" },
  ],
  load: () => import("./sign-proxy.js"),
});
