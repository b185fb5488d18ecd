import { keyPair } from "../../flows/keypair.js";
import type { Handler } from "../command.js";
import type { init } from "./commands.js";

export const run: Handler<typeof init> = async (_input, clm) => {
  const action = { verb: "init", target: clm.configDir, summary: `create ${clm.configDir} and an SSH key in it` };
  const key = await clm.withSession(({ gate }) => gate.pass(action, () => keyPair(clm.configDir, "clm")));
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
