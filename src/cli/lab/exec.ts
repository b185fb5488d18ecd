import { enter } from "../../lab/lab.js";
import type { Handler } from "../command.js";
import type { exec } from "./commands.js";

export const run: Handler<typeof exec> = ({ args }) => enter(args.host, args.command);
