import { describe, expect, it } from "vitest";
import { anyFilter, labNames, paths, splitHostName } from "../../../src/lab/names.js";
import { maxHosts } from "../../../src/lab/types.js";

describe("the names of a lab", () => {
  it.each(["a", "lab", "x".repeat(32)])("of lab '%s' fit where the kernel keeps them", (name) => {
    const names = labNames(name, "/labs");
    const host = names.host(maxHosts);
    // IFNAMSIZ is 16 with the closing zero; a machine name is at most 64.
    expect(names.bridge.length).toBeLessThanOrEqual(15);
    expect(host.veth.length).toBeLessThanOrEqual(15);
    expect(host.cgroup.length).toBeLessThanOrEqual(64);
    expect(host.name.length).toBeLessThanOrEqual(63);
  });

  it("are found by their prefix", () => {
    const names = labNames("lab", "/labs");
    const host = names.host(3);
    expect(host.veth.startsWith(names.links)).toBe(true);
    expect(names.bridge.startsWith(names.links)).toBe(true);
    expect(host.netns.startsWith(names.prefix)).toBe(true);
    expect(host.cgroup.startsWith(names.prefix)).toBe(true);
    expect(anyFilter.exec(`-s 198.18.1.0/24 --comment "${names.filter}"`)?.[0]).toBe(names.filter);
  });

  it("are never those of another lab, nor of the same name kept elsewhere", () => {
    const labs = [labNames("lab", "/labs"), labNames("lab-1", "/labs"), labNames("lab", "/other")];
    for (const one of labs) {
      for (const other of labs.filter((lab) => lab !== one)) {
        expect(other.host(1).netns.startsWith(one.prefix)).toBe(false);
        expect(other.host(1).veth.startsWith(one.links)).toBe(false);
        expect(other.filter).not.toBe(one.filter);
      }
    }
  });

  it.each(["", "Lab", "-lab", "lab-", "a_b", "a.b", "a/b", "..", "x".repeat(33)])(
    "cannot be made from '%s'",
    (name) => {
      expect(() => labNames(name, "/labs")).toThrow("cannot be a lab's name");
    },
  );
});

it.each([
  ["lab-1", { lab: "lab", number: 1 }],
  ["my-lab-2-10", { lab: "my-lab-2", number: 10 }],
  ["lab-0", undefined],
  ["lab-01", undefined],
  ["lab", undefined],
  ["-1", undefined],
])("a host called '%s'", (name, parts) => {
  expect(splitHostName(name)).toEqual(parts);
});

describe("where labs are kept", () => {
  it("is the user's choice", () => {
    expect(paths({ CLM_LAB_DIR: "/a", CLM_LAB_CACHE: "/b" })).toEqual({ labs: "/a", cache: "/b" });
    expect(paths({})).toEqual({ labs: "/var/lib/clm-lab", cache: "/var/cache/clm-lab" });
  });

  it.each(["labs", "/a,b", "/a:b", "/a b", "/a\\b"])("cannot be '%s'", (path) => {
    expect(() => paths({ CLM_LAB_DIR: path })).toThrow("cannot be kept in");
  });
});
