import { checkAnswer } from "../../agents/manifest/fields.js";
import type { Field } from "../../agents/manifest/manifest.js";
import { Fault } from "../../errors.js";

/** Fields whose value is a URL, by their names in manifests. */
export const isAddress = ({ name }: Field): boolean => name === "endpoint" || /(^|_)url$/.test(name);

/** A valid answer in its normal form, an address without a trailing slash; throws for an invalid one. */
export const checkAnswerOrAddress = (field: Field, text: string): string =>
  checkAnswer(field, isAddress(field) ? addressFrom(text) : text);

function addressFrom(text: string): string {
  const bad = (why: string) => new Fault("bad-input", "not a valid provider URL", { why });
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === "") {
    throw bad("an address is http://… or https://…, as http://gpu.lan:11434");
  }
  // It is printed, recorded and rendered unredacted.
  if (url.username || url.password) throw bad("it holds a password; keys are given with --key-stdin");
  if (url.search || url.hash) throw bad("it ends before any ? or #");
  return url.href.replace(/\/+$/, "");
}
