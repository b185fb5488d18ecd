/** Throw-away real hosts on this machine: the door to this folder. */
export { down } from "./down.js";
export { enter } from "./enter.js";
export { mustBeRoot } from "./machine.js";
export { isLabName, labNameFrom } from "./names.js";
export { mustBePossible } from "./possible.js";
export { recordedLabs } from "./record.js";
export type { HostState, Lab, LabHost, LabWish, Release } from "./shape.js";
export { status } from "./status.js";
export { isLabAddress } from "./subnet.js";
export { type UpOptions, up } from "./up.js";
