/** Estimated at four bytes each, not characters: in most scripts a character is several bytes and about one token. */
export const tokensInBytes = (bytes: number): number => Math.ceil(bytes / bytesPerToken);
export const bytesPerToken = 4;
