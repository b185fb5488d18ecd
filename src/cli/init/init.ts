import { type KeyPair, keyPair } from "../../flows/keypair.js";
import { type Session, withSession } from "../../flows/session.js";
import type { Handler } from "../command.js";
import type { init } from "./commands.js";

export const run: Handler<typeof init> = async (_input, clm) => {
  const key = await withSession(clm, makeConfigDir);
  if (!key) return undefined;
  clm.show({ config_dir: clm.configDir, identity: key.identity, public_key: key.publicKey }, () =>
    [
      `Config directory: ${clm.configDir}`,
      `SSH key: ${key.identity}`,
      "",
      "To allow it on a host, add this line to ~/.ssh/authorized_keys there:",
      `  ${key.publicKey}`,
      "",
      "Then: clm host add NAME --address ADDRESS --user USER",
      "No host yet? clm lab up",
    ].join("\n"),
  );
};

/** Creates the private config directory and the login key; what exists already is kept. */
function makeConfigDir({ configDir, gate }: Session): Promise<KeyPair | undefined> {
  const action = { verb: "init", target: configDir, summary: `create ${configDir} and an SSH key in it` };
  return gate.pass(action, () => keyPair(configDir, "clm"));
}
