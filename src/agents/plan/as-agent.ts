import { sh } from "../../quote.js";

/**
 * A command for a person that looks at an agent's files, or moves them, with the agent's rights. Never with root's: in a directory of the
 * agent's a link may lead anywhere.
 */
export const asAgent = ({ host, user }: { host: string; user: string }, words: string[]): string =>
  sh`clm host exec ${host} --sudo -- runuser -u ${user} -- ${words}`;
