import { VERSION } from "../../version.js";
import type { Handler } from "../command.js";
import type { version } from "./commands.js";

export const run: Handler<typeof version> = async (_, clm) => {
  const { platform, arch, version: node } = process;
  clm.show({ version: VERSION, node, platform, arch }, () => `clm ${VERSION}`);
};
