/** The comment of an account that clm made. Accounts with any other comment are never touched. */
export const accountComment = (mark: string): string => `clm agent ${mark}`;
