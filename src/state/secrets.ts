import { Fault } from "../errors.js";
import { Secret } from "../secret.js";
import { own } from "../text/own-property.js";
import { secretsOfClawrium } from "./clawrium-secrets.js";
import type { LockOptions } from "./lock.js";
import { ownerKey, parseOwnerKey, type SecretOwner } from "./secret-owner.js";
import { nullable, object, optional, record, type TypeOf, text } from "./shape.js";
import { jsonStore, type Store } from "./store.js";

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
export interface ImportedSecret {
  instance: SecretOwner;
  name: string;
  value: Secret;
  created_at: string;
  updated_at: string;
  description: string;
}

export interface Secrets {
  readonly path: string;
  get(instance: SecretOwner, name: string): Secret | undefined;
  names(instance: SecretOwner): string[];
  described(instance: SecretOwner): SecretInfo[];
  instances(): SecretOwner[];
  /** Every secret, to be redacted. */
  all(): Secret[];
  /** Stores a secret; the same value again changes nothing. */
  set(instance: SecretOwner, name: string, value: Secret, description: string): Promise<void>;
  /** Stores many in one write, and drops their former keys. */
  adopt(secrets: ImportedSecret[], gone: string[]): Promise<void>;
  /** Removes one secret, from the backups too. */
  unset(instance: SecretOwner, name: string): Promise<void>;
  /** Removes all secrets of an owner, from the backups too. */
  remove(instance: SecretOwner): Promise<void>;
  /** Removes the secrets of every agent on a host, from the backups too. */
  removeHost(host: string): Promise<void>;
  /** Moves the secrets of every agent on a host to the host's new name. */
  renameHost(from: string, to: string): Promise<void>;
}

/** `secrets.json`: the only file with secrets, readable by its owner alone. */
export function openSecrets(dir: string, options: LockOptions & { now?: () => Date } = {}): Secrets {
  const { now = () => new Date(), ...lock } = options;
  const store = secretStore(dir, lock);
  const secretsOf = (content: SecretsFile, instance: SecretOwner) => own(content, ownerKey(instance));
  const forget = async (isGone: (key: string) => boolean) => {
    await store.update((content) => rekey(content, (key) => (isGone(key) ? undefined : key)), { forget: true });
  };

  return {
    path: store.path,
    get(instance, name) {
      const found = own(secretsOf(store.read(), instance) ?? {}, name);
      return found && new Secret(found.value);
    },
    names: (instance) => Object.keys(secretsOf(store.read(), instance) ?? {}),
    described: (instance) =>
      Object.entries(secretsOf(store.read(), instance) ?? {}).map(([name, { created_at, updated_at, description }]) => {
        return { name, created_at, updated_at, description: description ?? "" };
      }),
    instances: () => Object.keys(store.read()).flatMap((key) => parseOwnerKey(key) ?? []),
    all: () =>
      Object.values(store.read()).flatMap((secrets) => Object.values(secrets).map(({ value }) => new Secret(value))),
    async set(instance, name, value, description) {
      const key = ownerKey(instance);
      if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name)) throw badName(name);
      await store.update((content) => {
        const secrets = own(content, key) ?? {};
        const old = own(secrets, name);
        if (old?.value === value.reveal() && old.description === description) return content;
        const at = now().toISOString();
        const entry = { ...old, value: value.reveal(), created_at: old?.created_at ?? at, updated_at: at, description };
        return { ...content, [key]: { ...secrets, [name]: entry } };
      });
    },
    async adopt(secrets, gone) {
      await store.update((content) => {
        const result = rekey(content, (key) => (gone.includes(key) ? undefined : key));
        for (const { instance, name, value, ...known } of secrets) {
          const key = ownerKey(instance);
          if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name)) throw badName(name);
          const old = own(own(result, key) ?? {}, name);
          if (old?.value === value.reveal()) continue;
          result[key] = { ...own(result, key), [name]: { ...known, value: value.reveal() } };
        }
        return result;
      });
    },
    async unset(instance, name) {
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
    async remove(instance) {
      const gone = ownerKey(instance);
      await forget((key) => key === gone);
    },
    removeHost: (host) => forget((key) => hostOf(key) === host),
    async renameHost(from, to) {
      const moved = (key: string) => [to, ...key.split(":").slice(1)].join(":");
      await store.update((content) => rekey(content, (key) => (hostOf(key) === from ? moved(key) : key)));
    },
  };
}

function secretStore(dir: string, lock: LockOptions = {}): Store<SecretsFile> {
  return jsonStore<SecretsFile>({
    dir,
    file: "secrets.json",
    version: 1,
    shape: secretsFile,
    empty: () => ({}),
    migrations: { 0: secretsOfClawrium },
    secret: true,
    lock,
  });
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

const badName = (name: string) =>
  new Fault("bad-input", `'${name}' cannot be a secret's name`, {
    why: "a name is made of letters, digits and _, as API_SERVER_KEY",
  });
