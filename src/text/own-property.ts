/** The record's own member, never one of its prototype: a user or a file may name `constructor`. */
export const own = <T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;

/** A record for names from outside: without a prototype, so that `__proto__` is a name like any other. */
export const namedByOthers = <T>(entries?: Readonly<Record<string, T>>): Record<string, T> =>
  Object.assign(Object.create(null) as Record<string, T>, entries);
