import { init as makeHome } from "../../flows/init.js";
import { withSession } from "../../flows/session.js";
import type { Handler } from "../command.js";
import type { init } from "./commands.js";

export const run: Handler<typeof init> = async (_input, clm) => {
  const key = await withSession(clm, makeHome);
  if (!key) return undefined;
  clm.show({ config_dir: clm.configDir, identity: key.identity, public_key: key.publicKey }, () =>
    [
      `Config directory: ${clm.configDir}`,
      `Key to log in with: ${key.identity}`,
      "",
      "Let it in on a host by adding this line to ~/.ssh/authorized_keys there:",
      `  ${key.publicKey}`,
      "",
      "Then: clm host add NAME --address ADDRESS --user USER",
      "No host at hand? clm lab up",
    ].join("\n"),
  );
  return undefined;
};
