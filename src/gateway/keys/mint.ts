import { createHmac, randomBytes, randomInt } from "node:crypto";
import { Secret } from "../../secret.js";
import type { SecretOwner } from "../../state/secret-owner.js";

const letters = "abcdefghijklmnopqrstuvwxyz0123456789";
/** `clm_<id>_<secret>` */
const form = /^clm_([a-z0-9]{8})_([A-Za-z0-9_-]{43})$/;
export const newId = (): string => Array.from({ length: 8 }, () => letters[randomInt(letters.length)]).join("");
export const newKeyFor = (id: string): Secret => new Secret(`clm_${id}_${randomBytes(32).toString("base64url")}`);

/** Undefined when it is not a gateway key. */
export function partsIn(key: string): { id: string; secret: string } | undefined {
  const [, id, secret] = form.exec(key) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

/** Removes gateway keys from a text, and beginnings of them: users paste keys into paths and model names. */
export const keyless = (text: string): string => text.replace(/clm_([a-z0-9]{8})_[\w-]*/g, "clm_$1_…");
export const idIn = (key: string): string | undefined => partsIn(key)?.id;

/** Without the pepper no key can be verified. */
export const pepperPlace: { instance: SecretOwner; name: string } = { instance: { gateway: "keys" }, name: "PEPPER" };
export const newPepper = (): Secret => new Secret(randomBytes(32).toString("hex"));

export const hashOf = (pepper: Secret, key: string): Buffer =>
  createHmac("sha256", Buffer.from(pepper.reveal(), "hex")).update(key).digest();

/** Under `gateway:<id>`. The key's record selects it by its hash, so a rotation that is killed is done or not begun. */
export const signingName = (hash: string): string => `SIGNING_${hash.slice(0, 16)}`;
