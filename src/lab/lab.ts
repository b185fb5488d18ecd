/** Throw-away real hosts on this machine: the door to this folder. */
export { down } from "./down.js";
export { enter } from "./enter.js";
export { ensurePackages, missingPackages } from "./machine.js";
export type { HostState, Lab, LabHost, Release } from "./shape.js";
export { releases } from "./shape.js";
export { status } from "./status.js";
export { type UpOptions, up } from "./up.js";
