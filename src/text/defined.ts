/** The members of `T`, with those that may be undefined optional instead. */
type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
} extends infer Members
  ? { [K in keyof Members]: Members[K] }
  : never;

/** The same object without its undefined members: how an optional property is set under exactOptionalPropertyTypes. */
export function defined<T extends object>(members: T): Defined<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Defined<T>;
}
