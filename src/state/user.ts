import { userInfo } from "node:os";

/** The name of the user who runs clm, or the uid without one. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `${process.getuid?.() ?? "unknown"}`;
  }
}
