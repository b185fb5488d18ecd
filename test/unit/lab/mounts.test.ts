import { expect, it } from "vitest";
import { parseMounts } from "../../../src/lab/mounts.js";

it("reads mountinfo, with optional fields and escaped paths", () => {
  const text = `22 28 0:20 / /sys rw,relatime - sysfs sysfs rw
40 22 0:36 / /sys/fs/cgroup/systemd rw,relatime shared:9 master:1 - cgroup cgroup rw,xattr,name=systemd
51 28 0:44 / /labs/a\\040b/root rw,relatime - overlay clm-lab-1 rw,lowerdir=/base,upperdir=/up
`;
  expect(parseMounts(text)).toEqual([
    { path: "/sys", type: "sysfs", options: ["rw"] },
    { path: "/sys/fs/cgroup/systemd", type: "cgroup", options: ["rw", "xattr", "name=systemd"] },
    { path: "/labs/a b/root", type: "overlay", options: ["rw", "lowerdir=/base", "upperdir=/up"] },
  ]);
});
