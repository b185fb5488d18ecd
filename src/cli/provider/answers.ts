import { assignment, type Given, sourceAssignment } from "../../flows/provider/answers.js";
import { parseSource, type SecretSource } from "../../flows/secret-source.js";
import { usage } from "../usage.js";

interface Options {
  model: string | undefined;
  endpoint: string | undefined;
  region: string | undefined;
  set: string[];
  keyStdin: boolean;
  keyFile: string | undefined;
  keyRef: string | undefined;
  secret: string[];
  secretRef: string[];
}

/** What was said about a provider, by field. */
export function givenIn(path: string, options: Options): Given {
  const { model, endpoint, region, set, keyFile, keyRef, keyStdin, secret, secretRef } = options;
  if ([keyStdin, keyFile, keyRef].filter(Boolean).length > 1) {
    throw usage(path, "the key comes from one place: --key-stdin, --key-file or --key-ref");
  }
  const pairs = set.map((text) => assignment("--set", text));
  if (endpoint !== undefined) pairs.push(["endpoint", endpoint]);
  if (region !== undefined) pairs.push(["region", region]);
  if (pairs.some(([name]) => name === "model")) throw usage(path, "the model is given with --model");
  return {
    model,
    fields: onceEach(path, pairs),
    secrets: onceEach(
      path,
      secret.map((text) => sourceAssignment("--secret", text)),
    ),
    references: onceEach(
      path,
      secretRef.map((text) => sourceAssignment("--secret-ref", text)),
    ),
    key: keyStdin ? { kind: "stdin" } : keyFile === undefined ? undefined : parseSource(`file:${keyFile}`),
    keyReference: keyRef === undefined ? undefined : parseSource(keyRef),
  };
}

function onceEach<V extends string | SecretSource>(path: string, pairs: [string, V][]): Record<string, V> {
  const twice = pairs.find(([name], at) => pairs.findIndex(([other]) => other === name) < at);
  if (twice) throw usage(path, `${twice[0]} is given twice`);
  return Object.fromEntries(pairs);
}
