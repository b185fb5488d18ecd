import { userInfo } from "node:os";

/** The name of the user who runs clm; its number where the system knows no name for it. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `${process.getuid?.() ?? "unknown"}`;
  }
}
