import { readRecord, recordedLabs } from "../../lab/record.js";
import { byName } from "../../names.js";
import { hostStore } from "../../state/hosts.js";
import type { Candidate, Names } from "../complete.js";

/** Names of things that exist now, for completion. */
export const namesFrom = async (kind: Parameters<Names>[0], configDir: string): Promise<Candidate[]> => {
  switch (kind) {
    case "host":
    case "host-pattern": {
      const { hosts } = hostStore(configDir).read();
      return hosts.toSorted(byName).map(({ name, address }) => ({ word: name, note: address }));
    }
    case "lab":
      return (await recordedLabs()).map((word) => ({ word }));
    case "lab-host": {
      const records = await Promise.all((await recordedLabs()).map((lab) => readRecord(lab)));
      return records.flatMap((lab) => lab?.hosts.map(({ number }) => ({ word: `${lab.name}-${number}` })) ?? []);
    }
  }
};
