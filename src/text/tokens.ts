/**
 * Estimates the tokens of UTF-8 text, at four bytes each: the model's tokenizer is not known here. Bytes, not characters: in
 * most scripts a character is several bytes and about one token.
 */
export const tokensInBytes = (bytes: number): number => Math.ceil(bytes / bytesPerToken);

export const bytesPerToken = 4;
