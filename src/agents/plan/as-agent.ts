import { sh } from "../../quote.js";

/** A command to type that runs as the agent's user. Never as root: a link in a directory of the agent may lead anywhere. */
export const asAgent = ({ host, user }: { host: string; user: string }, words: string[]): string =>
  sh`clm host exec ${host} --sudo -- runuser -u ${user} -- ${words}`;
