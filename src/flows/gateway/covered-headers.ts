import builtInTypes from "clm:agent-types";
import { type CoveredHeaders, coveredHeaders } from "../../gateway/signing/sign.js";

/** The headers that a signature covers, whichever agent a request is for: those of all types that the gateway serves. */
export async function signatureCovers(): Promise<CoveredHeaders> {
  const types = await Promise.all(Object.values(builtInTypes).map(({ load }) => load()));
  const dialects = await Promise.all(types.map(({ upstream }) => upstream?.()));
  return coveredHeaders(dialects.flatMap((dialect) => Object.values<string>({ ...dialect?.sessionHeaders })));
}
