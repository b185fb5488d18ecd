/**
 * About how many tokens so many bytes of UTF-8 are. Nobody here knows a model's tokenizer: four are taken for one. Bytes and not
 * characters, for a character of most scripts is more than one byte and about a token by itself.
 */
export const tokensInBytes = (bytes: number): number => Math.ceil(bytes / bytesPerToken);

export const bytesPerToken = 4;
