import { signerOf } from "../../../../src/gateway/signing/signing-secret.js";
import { Secret } from "../../../../src/secret.js";
import { verifying } from "./verifying.js";

/** The same as a process of its own, for who wants to kill it: `KEY=… node … DIR` says where it listens. */
const signer = signerOf(new Secret(process.env.KEY ?? ""));
if (!signer) throw new Error("no key");
const { url } = await verifying(signer, process.argv[2] ?? "", (_, body, response) => response.end(body));
console.log(url);
