import type { Field } from "../agents/manifest/manifest.js";

export const fieldsCell = (fields: Field[]): string =>
  fields.map(({ name, required, secret }) => `${name}${required ? "*" : ""}${secret ? "!" : ""}`).join(" ");

export const fieldsLegend = "* is required, ! is secret";

export const fieldsData = (fields: Field[]) =>
  fields.map(({ name, ask, help, secret, required, list, choices, means, default: usual }) => ({
    name,
    ask,
    help,
    secret: secret !== undefined,
    required,
    list,
    choices,
    means,
    default: usual,
  }));

export const versionsCell = (when: string): string => (when === "*" ? "all" : when);
