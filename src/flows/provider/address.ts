import type { Field } from "../../agents/manifest/manifest.js";
import { Fault } from "../../errors.js";

/** Fields whose answer is an address, by the names that manifests give them. */
export const isAddress = ({ name }: Field): boolean => name === "endpoint" || /(^|_)url$/.test(name);

/** The address without what means nothing (a slash at its end), or a fault that says what is wrong with it. */
export function addressFrom(text: string): string {
  const bad = (why: string, next: string[] = []) =>
    new Fault("bad-input", "that is not a provider's address", { why, next });
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === "") {
    throw bad("an address is http://… or https://…, as http://gpu.lan:11434");
  }
  // It is shown, recorded and rendered as it is.
  if (url.username || url.password) throw bad("it holds a password; keys are given with --key-stdin");
  if (url.search || url.hash) throw bad("it ends before any ? or #");
  return url.href.replace(/\/+$/, "");
}
