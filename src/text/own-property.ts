/** The value of that name, unless only the prototype has one: a user, a host or a file may name `constructor`. */
export const own = <T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;

/** An object for names that somebody else gives: nothing is in it but what was put there, and `__proto__` is a name too. */
export const namedByOthers = <T>(entries?: Readonly<Record<string, T>>): Record<string, T> =>
  Object.assign(Object.create(null) as Record<string, T>, entries);
