import { sh } from "../../../quote.js";
import ownFiles from "./own-files.sh?raw";
import port from "./port.sh?raw";
import proof from "./proof.sh?raw";
import requests from "./requests.sh?raw";

/** The functions of a proof. Those that check the port are also run by bash, before a request that carries a key. */
export const proofLibrary = [
  proof,
  ownFiles,
  sh`port_functions=${port}`,
  'eval "$port_functions"',
  sh`requests=${requests}`,
  "",
].join("\n");
