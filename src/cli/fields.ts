import type { Field } from "../agents/manifest/manifest.js";

/** What a type of provider or a channel asks and who knows it, as all listings of such things show it. */

export const fieldsCell = (fields: Field[]): string =>
  fields.map(({ name, required, secret }) => `${name}${required ? "*" : ""}${secret ? "!" : ""}`).join(" ");

export const fieldsLegend = "* is required, ! is secret";

export const fieldsData = (fields: Field[]) =>
  fields.map(({ name, ask, help, secret, required, list, choices, means, default: usual }) => ({
    ...{ name, ask, help, secret: secret !== undefined, required, list, choices, means, default: usual },
  }));

/** The versions of an agent that know the thing. */
export const versionsCell = (when: string): string => (when === "*" ? "all" : when);
