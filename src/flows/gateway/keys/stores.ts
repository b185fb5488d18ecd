import { type GatewayKeys, gatewayKeyStore } from "../../../state/gateway-keys.js";
import type { Store } from "../../../state/store.js";
import type { Session } from "../../session.js";

export const keyStoreOf = ({ configDir, argv, signal }: Session): Store<GatewayKeys> =>
  gatewayKeyStore(configDir, { what: `clm ${argv.slice(0, 3).join(" ")}`, signal });
