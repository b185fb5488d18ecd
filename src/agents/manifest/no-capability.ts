import { Fault } from "../../errors.js";
import type { Manifest } from "./manifest.js";

export const noCapability = ({ type }: Pick<Manifest, "type">, what: string): Fault =>
  new Fault("unsupported", `${type} agents have no ${what}`, { next: `clm registry show ${type}` });
