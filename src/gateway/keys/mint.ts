import { createHmac, randomBytes, randomInt } from "node:crypto";
import { Secret } from "../../secret.js";
import type { SecretOwner } from "../../state/secret-owner.js";

/** `clm_<id>_<secret>`: what a caller shows, and what is kept of it. */

const letters = "abcdefghijklmnopqrstuvwxyz0123456789";
const form = /^clm_([a-z0-9]{8})_([A-Za-z0-9_-]{43})$/;

export const newId = (): string => Array.from({ length: 8 }, () => letters[randomInt(letters.length)]).join("");

export const newKeyFor = (id: string): Secret => new Secret(`clm_${id}_${randomBytes(32).toString("base64url")}`);

/** The id in a key, and its secret; nothing when it is none of ours. */
export function partsIn(key: string): { id: string; secret: string } | undefined {
  const [, id, secret] = form.exec(key) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

/**
 * A text in which no key can be read. Somebody who pastes his key in the wrong place has it in the path or the model. Also the
 * beginning of one: what is cut could end in it.
 */
export const keyless = (text: string): string => text.replace(/clm_([a-z0-9]{8})_[\w-]*/g, "clm_$1_…");

export const idIn = (key: string): string | undefined => partsIn(key)?.id;

/** Where the pepper is: without it no key can be told from another text, so nobody gets in. */
export const pepperPlace: { instance: SecretOwner; name: string } = { instance: { gateway: "keys" }, name: "PEPPER" };

export const newPepper = (): Secret => new Secret(randomBytes(32).toString("hex"));

/** What is recorded of a key. */
export const hashOf = (pepper: Secret, key: string): Buffer =>
  createHmac("sha256", Buffer.from(pepper.reveal(), "hex")).update(key).digest();

/**
 * Under `gateway:<id>`, the signing secret that belongs to a hash. The record says by its hash which one counts, so that a
 * rotation killed between the two files has either not happened or is done.
 */
export const signingName = (hash: string): string => `SIGNING_${hash.slice(0, 16)}`;
