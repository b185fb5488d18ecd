/** Throw-away real hosts on this machine: the public interface of this folder. */
export { down } from "./down.js";
export { enter } from "./enter.js";
export { mustBeRoot } from "./machine.js";
export { isLabName, labNameFrom } from "./names.js";
export { mustBePossible } from "./preconditions.js";
export { recordedLabs } from "./record.js";
export { type Lab, type LabHost, status } from "./status.js";
export { isLabAddress } from "./subnet.js";
export type { LabOptions } from "./types.js";
export { up } from "./up.js";
