import { Fault } from "../../errors.js";
import { Secret } from "../../secret.js";

/** Collects the variables of `.env`. Owners that set the same variable must agree on its value. */
export class EnvDraft {
  readonly entries = new Map<string, string | Secret>();
  readonly #owners = new Map<string, string>();

  agrees(name: string, value: string | Secret): boolean {
    const there = this.entries.get(name);
    return there === undefined || plain(there) === plain(value);
  }

  put(name: string, value: string | Secret, owner: string): void {
    if (!this.agrees(name, value))
      throw new Fault("bad-input", `${owner} and ${this.#owners.get(name)} set ${name} to different values`, {
        why: "an agent has one variable of that name",
        data: { variable: name },
      });
    if (this.entries.has(name)) return;
    this.entries.set(name, value);
    this.#owners.set(name, owner);
  }
}

export const plain = (value: string | Secret): string => (value instanceof Secret ? value.reveal() : value);
