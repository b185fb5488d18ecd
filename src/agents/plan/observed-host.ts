/** The part of an Observation that a plan needs. */
export interface ObservedHost {
  /** The comment of the agent's account. */
  comment?: string;
  unit: Record<string, string>;
  /** The text of its unit, if requested. */
  service: string;
  systemd: number;
  /** Variables of `.env`, each with the salted digest of its line, if requested. */
  variables: Map<string, string>;
  texts: Record<string, ObservedText>;
}

export interface ObservedText {
  there: boolean;
  /** Missing when the file could not be read as text. */
  text?: string;
}
