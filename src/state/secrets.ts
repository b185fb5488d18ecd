import { Fault } from "../errors.js";
import { Secret } from "../secret.js";
import { own } from "../text/own-property.js";
import { secretsOfClawrium } from "./clawrium-secrets.js";
import type { LockOptions } from "./lock.js";
import { ownerKey, parseOwnerKey, type SecretOwner } from "./secret-owner.js";
import { nullable, object, optional, record, type TypeOf, text } from "./shape.js";
import { jsonStore } from "./store.js";

const secretsFile = record(
  record(object({ value: text, created_at: text, updated_at: text, description: optional(nullable(text)) })),
);

type SecretsFile = TypeOf<typeof secretsFile>;

/** A secret without its value. */
export interface SecretInfo {
  name: string;
  created_at: string;
  updated_at: string;
  description: string;
}

/** A secret from another file, with its dates and description. */
export interface ImportedSecret extends SecretInfo {
  instance: SecretOwner;
  value: Secret;
}

export type Secrets = ReturnType<typeof openSecrets>;

/** `secrets.json`: the only file with secrets, readable by its owner alone. */
export function openSecrets(dir: string, options: LockOptions & { now?: () => Date } = {}) {
  const { now = () => new Date(), ...lock } = options;
  const store = jsonStore({
    dir,
    file: "secrets.json",
    shape: secretsFile,
    empty: () => ({}),
    migrations: { 0: secretsOfClawrium },
    secret: true,
    lock,
  });
  const secretsOf = (instance: SecretOwner) => own(store.read(), ownerKey(instance)) ?? {};
  const forget = async (isGone: (key: string) => boolean) => {
    await store.update((content) => rekey(content, (key) => (isGone(key) ? undefined : key)), { forget: true });
  };

  return {
    path: store.path,
    get(instance: SecretOwner, name: string): Secret | undefined {
      const found = own(secretsOf(instance), name);
      return found && new Secret(found.value);
    },
    names: (instance: SecretOwner): string[] => Object.keys(secretsOf(instance)),
    described: (instance: SecretOwner): SecretInfo[] =>
      Object.entries(secretsOf(instance)).map(([name, { created_at, updated_at, description }]) => {
        return { name, created_at, updated_at, description: description ?? "" };
      }),
    instances: (): SecretOwner[] => Object.keys(store.read()).flatMap((key) => parseOwnerKey(key) ?? []),
    /** Every secret, to be redacted. */
    all: (): Secret[] =>
      Object.values(store.read()).flatMap((secrets) => Object.values(secrets).map(({ value }) => new Secret(value))),
    /** Stores a secret; the same value again changes nothing. */
    async set(instance: SecretOwner, name: string, value: Secret, description: string): Promise<void> {
      const key = ownerKey(instance);
      mustBeName(name);
      await store.update((content) => {
        const secrets = own(content, key) ?? {};
        const old = own(secrets, name);
        if (old?.value === value.reveal() && old.description === description) return content;
        const at = now().toISOString();
        const entry = { ...old, value: value.reveal(), created_at: old?.created_at ?? at, updated_at: at, description };
        return { ...content, [key]: { ...secrets, [name]: entry } };
      });
    },
    /** Stores many in one write, and drops their former keys. */
    async adopt(secrets: ImportedSecret[], gone: string[]): Promise<void> {
      await store.update((content) => {
        const result = rekey(content, (key) => (gone.includes(key) ? undefined : key));
        for (const { instance, name, value, ...known } of secrets) {
          const key = ownerKey(instance);
          mustBeName(name);
          const old = own(own(result, key), name);
          if (old?.value === value.reveal()) continue;
          result[key] = { ...own(result, key), [name]: { ...known, value: value.reveal() } };
        }
        return result;
      });
    },
    /** Removes one secret, from the backups too. */
    async unset(instance: SecretOwner, name: string): Promise<void> {
      const key = ownerKey(instance);
      await store.update(
        (content) => {
          const { [name]: _, ...others } = own(content, key) ?? {};
          const { [key]: __, ...rest } = content;
          return Object.keys(others).length > 0 ? { ...rest, [key]: others } : rest;
        },
        { forget: true },
      );
    },
    /** Removes all secrets of an owner, from the backups too. */
    async remove(instance: SecretOwner): Promise<void> {
      const gone = ownerKey(instance);
      await forget((key) => key === gone);
    },
    /** Removes the secrets of every agent on a host, from the backups too. */
    removeHost: (host: string): Promise<void> => forget((key) => hostOf(key) === host),
    /** Moves the secrets of every agent on a host to the host's new name. */
    async renameHost(from: string, to: string): Promise<void> {
      const moved = (key: string) => [to, ...key.split(":").slice(1)].join(":");
      await store.update((content) => rekey(content, (key) => (hostOf(key) === from ? moved(key) : key)));
    },
  };
}

/** The secrets under new keys; those without a new key are dropped. */
function rekey(content: SecretsFile, keyFor: (key: string) => string | undefined): SecretsFile {
  const result: SecretsFile = {};
  for (const [key, secrets] of Object.entries(content)) {
    const target = keyFor(key);
    if (target === undefined) continue;
    if (own(result, target) || (target !== key && own(content, target))) {
      throw new Fault("already-exists", `secrets of ${target} exist already`, {
        why: `those of ${key} would replace them`,
      });
    }
    result[target] = secrets;
  }
  return result;
}

function hostOf(key: string): string | undefined {
  const instance = parseOwnerKey(key);
  return instance && "host" in instance ? instance.host : undefined;
}

function mustBeName(name: string): void {
  if (/^[A-Za-z][A-Za-z0-9_]*$/.test(name)) return;
  throw new Fault("bad-input", `'${name}' cannot be a secret's name`, {
    why: "a name is made of letters, digits and _, as API_SERVER_KEY",
  });
}
