import type { Fault } from "../../errors.js";
import { fingerprint } from "../../text/fingerprint.js";
import type { SshSettings } from "../target/ssh-settings.js";
import type { Target } from "../target/target.js";
import { untrusted, wrongFingerprint } from "./faults.js";
import type { HostKey } from "./key.js";
import { readPins, readRevoked } from "./pins.js";
import { userEntries } from "./user-files.js";
import { verdict } from "./verdict.js";

export interface Expectation {
  /** Its known keys, so that the host can be asked for one of their types. */
  keys: readonly Pick<HostKey, "type">[];
  /** Undefined when the offered key is trusted, else the reason. */
  judge(offered: HostKey): Fault | undefined;
}

/** Whether a host's key is trusted: by our pins, or without a pin by the user's known_hosts, which is never written. */
export interface Trust {
  expect(target: Target, settings: SshSettings): Promise<Expectation>;
  /** As if this key were pinned: for `host add`, between approval and record. */
  assuming(alias: string, key: HostKey): Trust;
  /** Requires a key of this type and fingerprint, whatever is pinned: a host shows the type of key it is asked for. */
  demanding(alias: string, sha256: string, type: string): Trust;
  /** As if the host had no pin: one may be left from a host that is no longer in the fleet. */
  forgetting(alias: string): Trust;
  /** As if the host were unknown, to pins and user files alike: its key has to be approved again. */
  doubting(alias: string): Trust;
}

interface TrustChanges {
  assumed: Map<string, HostKey>;
  demanded: Map<string, { sha256: string; type: string }>;
  forgotten: Set<string>;
  doubted: Set<string>;
}

export function trustIn(configDir: string, changes: TrustChanges = none()): Trust {
  const changed = (change: (copy: TrustChanges) => void): Trust => {
    const copy: TrustChanges = {
      assumed: new Map(changes.assumed),
      demanded: new Map(changes.demanded),
      forgotten: new Set(changes.forgotten),
      doubted: new Set(changes.doubted),
    };
    change(copy);
    return trustIn(configDir, copy);
  };

  return {
    assuming: (alias, key) => changed((copy) => copy.assumed.set(alias, key)),
    demanding: (alias, sha256, type) => changed((copy) => copy.demanded.set(alias, { sha256, type })),
    forgetting: (alias) => changed((copy) => copy.forgotten.add(alias)),
    doubting: (alias) => changed((copy) => copy.doubted.add(alias)),
    async expect(target, settings) {
      const alias = target.name;
      const assumed = changes.assumed.get(alias);
      const doubted = changes.doubted.has(alias);
      const pinned = doubted || changes.forgotten.has(alias) ? [] : await readPins(configDir, alias);
      const expected = assumed ? [assumed] : pinned;
      const pins = [...expected, ...(await readRevoked(configDir, alias))];
      const known = await userEntries(settings);
      const demanded = changes.demanded.get(alias);
      return {
        keys: demanded ? [demanded] : expected.length > 0 ? expected : known.keys,
        judge(offered) {
          const found = verdict({ pins, known, offered });
          if (found.kind === "revoked") return untrusted(target, settings, found);
          if (demanded) {
            const same = fingerprint(offered.blob) === demanded.sha256;
            return same ? undefined : wrongFingerprint(target, demanded.sha256, offered);
          }
          if (found.kind !== "trusted") return untrusted(target, settings, found);
          return doubted && found.by === "user" ? untrusted(target, settings, { kind: "unknown", offered }) : undefined;
        },
      };
    },
  };
}

const none = (): TrustChanges => ({
  assumed: new Map(),
  demanded: new Map(),
  forgotten: new Set(),
  doubted: new Set(),
});
