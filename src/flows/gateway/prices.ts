import { existsSync, realpathSync } from "node:fs";
import { loadModels, type Models, overlayIn } from "../../agents/manifest/models.js";
import type { Session } from "../session.js";
import { reloadOnChange } from "./reload-on-change.js";

/** The prices of models, by the user's models.yaml as it is now. */
export function livePrices({ configDir, ui }: Session): Promise<() => Models | Promise<Models>> {
  const overlay = overlayIn(configDir);
  return reloadOnChange({
    paths: () => [resolvedPath(overlay)],
    read: () => loadModels(configDir),
    onChange: () => ui.note(`prices reloaded from ${existsSync(overlay) ? overlay : "those that come with clm"}`),
    onError: (why) => ui.warn(`the gateway keeps the prices it knew: ${why}`),
  });
}

/** Behind a symbolic link, so that a change of the file itself is seen. */
function resolvedPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
