/** What programs report, in the C locale, when a disk or a quota is full. */
export const diskFull = /No space left on device|Disk quota exceeded/;
