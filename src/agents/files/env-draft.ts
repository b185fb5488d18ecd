import { Fault } from "../../errors.js";
import { Secret } from "../../secret.js";

/** `.env` while it is put together: every variable has one owner, or owners that agree. */
export class EnvDraft {
  readonly entries = new Map<string, string | Secret>();
  readonly #owners = new Map<string, string>();

  /** Whether a variable may have that value: nobody else wants another. */
  agrees(name: string, value: string | Secret): boolean {
    const there = this.entries.get(name);
    return there === undefined || plain(there) === plain(value);
  }

  put(name: string, value: string | Secret, owner: string): void {
    if (!this.agrees(name, value))
      throw new Fault("bad-input", `${owner} and ${this.#owners.get(name)} want ${name} to be different things`, {
        why: "an agent has one variable of that name",
        data: { variable: name },
      });
    if (this.entries.has(name)) return;
    this.entries.set(name, value);
    this.#owners.set(name, owner);
  }
}

export const plain = (value: string | Secret): string => (value instanceof Secret ? value.reveal() : value);
