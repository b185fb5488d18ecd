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

/** What else to believe of a host. */
interface Exception {
  assumed?: HostKey;
  demanded?: { sha256: string; type: string };
  forgotten?: boolean;
  doubted?: boolean;
}

export function trustIn(configDir: string, exceptions: ReadonlyMap<string, Exception> = new Map()): Trust {
  const except = (alias: string, added: Exception): Trust =>
    trustIn(configDir, new Map(exceptions).set(alias, { ...exceptions.get(alias), ...added }));

  return {
    assuming: (alias, key) => except(alias, { assumed: key }),
    demanding: (alias, sha256, type) => except(alias, { demanded: { sha256, type } }),
    forgetting: (alias) => except(alias, { forgotten: true }),
    doubting: (alias) => except(alias, { doubted: true }),
    async expect(target, settings) {
      const alias = target.name;
      const { assumed, demanded, forgotten, doubted } = exceptions.get(alias) ?? {};
      const pinned = doubted || forgotten ? [] : await readPins(configDir, alias);
      const expected = assumed ? [assumed] : pinned;
      const pins = [...expected, ...(await readRevoked(configDir, alias))];
      const known = await userEntries(settings);
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
