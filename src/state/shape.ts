import { isRecord } from "../text/record.js";

/**
 * Checks a state file. Every command reads state cold: 1,000 hosts take zod/mini about 30 ms in a fresh process and this
 * about 6, and loading zod costs 5 more. Rich documents, such as manifests, use zod.
 */
export interface Shape<T> {
  /** Only for types. */
  readonly type?: T;
  /** Undefined when the value is valid. Never quotes the value, which may be a secret. */
  objection(value: unknown): Objection | undefined;
}

export interface Objection {
  path: (string | number)[];
  reason: string;
}

export type TypeOf<S> = S extends Shape<infer T> ? T : never;

const is = <T>(what: string, test: (value: unknown) => boolean): Shape<T> => {
  const objection: Objection = { path: [], reason: `should be ${what}` };
  return { objection: (value) => (test(value) ? undefined : { ...objection, path: [] }) };
};

export const text = is<string>("a string", (value) => typeof value === "string");
export const number = is<number>("a number", (value) => typeof value === "number");
export const boolean = is<boolean>("true or false", (value) => typeof value === "boolean");
export const anything = is<unknown>("anything", () => true);

export const whole = (least: number, most: number): Shape<number> =>
  is(`a whole number from ${least} to ${most}`, (value) => {
    return typeof value === "number" && Number.isInteger(value) && value >= least && value <= most;
  });

export const oneOf = <const C extends readonly (string | null)[]>(...choices: C): Shape<C[number]> =>
  is(`one of ${choices.join(", ")}`, (value) => choices.includes(value as C[number]));

export const optional = <T>(shape: Shape<T>): Shape<T | undefined> => ({
  objection: (value) => (value === undefined ? undefined : shape.objection(value)),
});

export const nullable = <T>(shape: Shape<T>): Shape<T | null> => ({
  objection: (value) => (value === null ? undefined : shape.objection(value)),
});

export const list = <T>(of: Shape<T>): Shape<T[]> => ({
  objection(value) {
    if (!Array.isArray(value)) return { path: [], reason: "should be a list" };
    for (let index = 0; index < value.length; index++) {
      const found = of.objection(value[index]);
      if (found) return below(index, found);
    }
    return undefined;
  },
});

/** Any keys, each with a value of this shape. */
export const record = <T>(of: Shape<T>): Shape<Record<string, T>> => ({
  objection(value) {
    if (!isRecord(value)) return notAnObject();
    for (const key of Object.keys(value)) {
      const found = of.objection(value[key]);
      if (found) return below(key, found);
    }
    return undefined;
  },
});

type Fields = Record<string, Shape<unknown>>;
type OptionalKeys<F> = { [K in keyof F]: undefined extends TypeOf<F[K]> ? K : never }[keyof F];
type Flat<T> = { [K in keyof T]: T[K] };
type ObjectOf<F> = Flat<
  { [K in Exclude<keyof F, OptionalKeys<F>>]: TypeOf<F[K]> } & { [K in OptionalKeys<F>]?: TypeOf<F[K]> }
>;

/** These fields, and any others, unchecked. */
export function object<F extends Fields>(fields: F): Shape<ObjectOf<F>> {
  const names = Object.keys(fields);
  const shapes = Object.values(fields);
  return {
    objection(value) {
      if (!isRecord(value)) return notAnObject();
      // An index loop is a fifth faster here: this runs before the engine has warmed up.
      for (let index = 0; index < names.length; index++) {
        const name = names[index] as string;
        const found = shapes[index]?.objection(value[name]);
        if (found) return below(name, value[name] === undefined ? { path: [], reason: "is missing" } : found);
      }
      return undefined;
    },
  };
}

/** Adds a condition on the value as a whole. */
export const also = <T>(shape: Shape<T>, reason: string, test: (value: T) => boolean): Shape<T> => ({
  objection: (value) => shape.objection(value) ?? (test(value as T) ? undefined : { path: [], reason }),
});

/** `hosts[3].labels["a b"] should be a string`. */
export function objectionText({ path, reason }: Objection): string {
  const place = path.map((step, index) => {
    if (typeof step === "number") return `[${step}]`;
    if (!/^[a-z_]\w*$/i.test(step)) return `[${JSON.stringify(step)}]`;
    return index === 0 ? step : `.${step}`;
  });
  return `${place.join("") || "the file"} ${reason}`;
}

const notAnObject = (): Objection => ({ path: [], reason: "should be an object" });
const below = (step: string | number, { path, reason }: Objection): Objection => ({ path: [step, ...path], reason });
