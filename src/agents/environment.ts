import type { Subject } from "./subject.js";

const standardPath = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/** What an agent's processes have in their environment beside what its `.env` says. Nothing in it is secret. */
export const environmentOf = ({ user, places }: Pick<Subject, "user" | "places">): Record<string, string> => ({
  HOME: places.home,
  USER: user,
  LOGNAME: user,
  HERMES_HOME: places.data,
  PATH: [...places.path, ...standardPath].join(":"),
});
