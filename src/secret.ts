import { inspect } from "node:util";

/**
 * A value that must not show. It prints, logs and serialises as `[secret]`; the one way to the bytes is `reveal()`,
 * so every place that needs them can be found by searching for that word.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return "[secret]";
  }

  toJSON(): string {
    return "[secret]";
  }

  [inspect.custom](): string {
    return "[secret]";
  }
}
