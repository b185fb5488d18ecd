import { Fault } from "../../errors.js";
import { type SignProxyState, signProxy } from "../../flows/gateway/signing/sign-proxy.js";
import { parseSource, type SecretSource } from "../../flows/secret-source.js";
import { jsonLine } from "../../ui/format.js";
import type { Context, Handler } from "../command.js";
import type { signProxy as command } from "./commands.js";
import { keyVariable, settingsOf, settingsText } from "./tools/client-tools.js";

type Options = Parameters<Handler<typeof command>>[0]["options"];

export const run: Handler<typeof command> = async ({ options }, clm) => {
  const { to, port, localKey, open } = options;
  const key = sourceOf(options);
  await clm.withSession((session) =>
    signProxy(session, { key, to, port, localKey, open }, (opened) => {
      clm.untilStopped();
      announce(clm, options, opened);
    }),
  );
  if (clm.format !== "json") clm.ui.note("the signing proxy has stopped");
};

function sourceOf({ keyFile, keyEnv }: Options): SecretSource {
  if (keyFile !== undefined && keyEnv !== undefined)
    throw new Fault("usage", "--key-file and --key-env exclude each other");
  // A key could also be the name of a variable or a file, and an error about a missing one would repeat it.
  if ([keyFile, keyEnv].some((word) => word?.startsWith("clm_"))) throw neverAnArgument();
  if (keyFile !== undefined) return parseSource(`file:${keyFile}`);
  if (keyEnv === undefined) return { kind: "stdin" };
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(keyEnv)) return { kind: "env", name: keyEnv };
  throw neverAnArgument();
}

const neverAnArgument = (): Fault =>
  new Fault("bad-input", "a key is never an argument", {
    why: [
      "every user of this machine can read the arguments of every process",
      "--key-env takes the name of a variable, --key-file that of a file; without both, the key is read from stdin",
    ],
  });

function announce({ ui, format }: Context, { tool }: Options, opened: SignProxyState): void {
  const { keyId, gateway, target, probe, made, open } = opened;
  const settings = settingsOf(tool, target);
  if (format === "json") {
    const { base: base_url, model } = target;
    const line = { event: "ready", base_url, gateway, key: keyId, open, model, models: probe.models, settings };
    const more = { ...(made && { local_key: made.reveal() }), ...(probe.trouble && { trouble: probe.trouble }) };
    ui.data({ ...line, ...more }, jsonLine);
    return;
  }
  if (probe.trouble) ui.warn(probe.trouble);
  if (made) ui.handOut(made, `export ${keyVariable}=`);
  // Tools require some key; it is ignored.
  else if (open) ui.out(`export ${keyVariable}=none\n`);
  ui.out(settingsText(settings));
  if (open) ui.warn(`every user and program of this machine can now use the key ${keyId} at ${target.base}`);
  ui.note(`requests to ${target.base} are signed with ${keyId} and sent to ${gateway}, until Ctrl-C`);
}
