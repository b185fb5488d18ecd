/** A request to a service. Any part may contain secrets, the URL too. */
export interface ServiceQuery {
  method: "GET" | "POST";
  url: URL;
  headers: Record<string, string>;
  body?: string;
}

export interface ServiceResponse {
  status: number;
  body: string;
  /** The target of a redirect, which is not followed: the key is for this address only. */
  location?: string;
}

export interface ServiceFailure {
  trouble: "name" | "refused" | "unreachable" | "timeout" | "tls" | "not-http" | "too-long" | "no-curl";
  /** The error of curl or Node, without secrets. */
  detail?: string;
}

/** Bytes. A list of models is far shorter. */
export const maxBytes = 1024 * 1024;
