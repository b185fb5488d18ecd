/** What a plan needs to know about the host; a probe's Observation has all of it. */
export interface ObservedHost {
  /** The comment of the agent's account. */
  comment?: string;
  /** Properties of its unit. */
  unit: Record<string, string>;
  /** The text of its unit, when digests were asked for. */
  service: string;
  systemd: number;
  /** Variables of `.env`, each with the salted digest of its line when that was asked for. */
  variables: Map<string, string>;
  /** Files that others write to as well, by name. */
  texts: Record<string, ObservedText>;
}

export interface ObservedText {
  there: boolean;
  /** Missing when the file could not be read as text. */
  text?: string;
}
