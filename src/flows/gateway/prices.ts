import { existsSync, realpathSync } from "node:fs";
import { loadModels, type Models, overlayIn } from "../../agents/manifest/models.js";
import type { Session } from "../session.js";
import { reloadOnChange } from "./reload-on-change.js";

/** What models cost, by the user's models.yaml as it is now. */
export function livePrices({ configDir, ui }: Session): Promise<() => Models | Promise<Models>> {
  const overlay = overlayIn(configDir);
  return reloadOnChange({
    paths: () => [behind(overlay)],
    read: () => loadModels(configDir),
    changed: () =>
      ui.note(`prices are those ${existsSync(overlay) ? `of ${overlay} as it is now` : "that come with clm"}`),
    trouble: (why) => ui.warn(`prices stay what they were: ${why}`),
  });
}

/** A link leads to what is read. */
function behind(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
