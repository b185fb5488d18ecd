/** The comment of an account that clm made. One with any other comment belongs to somebody else and is never touched. */
export const accountComment = (mark: string): string => `clm agent ${mark}`;
