import { signerOf } from "../../../../src/gateway/signing/sign.js";
import { Secret } from "../../../../src/secret.js";
import { verifying } from "./verifying.js";

/** The same as a separate process that can be killed: `KEY=… node … DIR` prints its address. */
const signer = signerOf(new Secret(process.env.KEY ?? ""));
if (!signer) throw new Error("no key");
const { url } = await verifying(signer, process.argv[2] ?? "", (_, body, response) => response.end(body));
console.log(url);
