import { expect, it } from "vitest";
import { withMembers } from "../../../src/text/with-members.js";

class Counter {
  #count = 0;
  get count(): number {
    return this.#count;
  }
  add(): number {
    return ++this.#count;
  }
  name(): string {
    return "counter";
  }
}

it("replaces members of an object with private fields, and leaves the object as it is", () => {
  const counter = new Counter();
  const other = withMembers(counter, { name: () => "other" });
  expect([other.add(), other.count, counter.count]).toEqual([1, 1, 1]);
  expect([other.name(), counter.name()]).toEqual(["other", "counter"]);
});
