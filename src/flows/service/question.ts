/** A question to a service, with everything filled in. It may hold secrets anywhere, its address too. */
export interface Question {
  method: "GET" | "POST";
  url: URL;
  headers: Record<string, string>;
  body?: string;
}

export interface Answer {
  status: number;
  body: string;
  /** Where it sends us instead. Nobody follows: what we carry is meant for this address only. */
  location?: string;
}

/** Why there is no answer. */
export interface Silence {
  trouble: "name" | "refused" | "unreachable" | "timeout" | "tls" | "not-http" | "too-long" | "no-curl";
  /** In the words of who tried, with nothing secret in them. */
  detail?: string;
}

/** Milliseconds for the whole conversation. */
export const usualTimeout = 15_000;

/** Bytes. A list of models is far shorter. */
export const longest = 1024 * 1024;
