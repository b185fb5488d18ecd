import { realpathSync } from "node:fs";
import { loadModels, type Models, overlayIn } from "../../agents/models.js";
import { asFault } from "../../errors.js";
import { stampOf } from "../../state/state-file.js";
import type { Session } from "../session.js";

// Milliseconds for which the file is not looked at again.
const moment = 1000;

/** What models cost, read anew when the user's models.yaml is another file than it was. */
export async function livePrices({ configDir, ui }: Session): Promise<Pick<Models, "of">> {
  const overlay = overlayIn(configDir);
  const stamp = () => stampOf([behind(overlay)]);
  let seen = stamp();
  let known = await loadModels(configDir);
  let lookedAt = Date.now();

  function look(): void {
    const now = Date.now();
    if (Math.abs(now - lookedAt) < moment) return;
    lookedAt = now;
    const stamped = stamp();
    if (stamped === seen) return;
    seen = stamped;
    loadModels(configDir).then(
      (models) => {
        known = models;
        ui.note(`prices are those of ${overlay} as it is now`);
      },
      (error) => ui.warn(`prices stay what they were: ${asFault(error).message}`),
    );
  }

  return {
    of(providerType, model) {
      look();
      return known.of(providerType, model);
    },
  };
}

/** A link leads to what is read. */
function behind(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
