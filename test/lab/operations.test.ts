import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { Connection } from "../../src/remote/connection.js";
import { converge, type Report } from "../../src/remote/operations/converge.js";
import { user } from "../../src/remote/operations/operation.js";
import type { Shell } from "../../src/remote/process.js";
import { bundleScript } from "../faults/bundle.js";
import { inHost, runProgram } from "./clm.js";
import { connectTo } from "./connect.js";
import { clean, sampleOperations, treeScript } from "./sample-operations.js";

const shared = inject("fleetHome");

describe.each(["trial-1", "trial13-1"])("operations on %s", (name) => {
  let connection: Connection;
  let spawned = 0;
  let sent = 0;
  let root: Shell;

  beforeAll(async () => {
    connection = await connectTo(shared, name);
    root = counting(connection.as("root"));
    await inHost(name, clean);
  });
  afterAll(async () => {
    connection.close();
    await inHost(name, `${clean}\nrm /srv/unwanted`);
  });

  /** The same shell, counting execs and bytes. */
  function counting(shell: Shell): Shell {
    return {
      as: (user) => counting(shell.as(user)),
      async spawn(command, options) {
        spawned++;
        const process = await shell.spawn(command, options);
        const write = process.stdin.write.bind(process.stdin);
        process.stdin.write = ((chunk: Buffer | string, ...rest: never[]) => {
          sent += Buffer.byteLength(chunk);
          return write(chunk, ...rest);
        }) as typeof process.stdin.write;
        return process;
      },
    };
  }

  const apply = async (): Promise<Report> => {
    spawned = 0;
    sent = 0;
    return converge(root, sampleOperations, { mode: "apply" });
  };
  const damage = async () => {
    const { results } = await converge(root, sampleOperations, { mode: "check" });
    return results.filter(({ status }) => status !== "ok").map(({ id }) => id);
  };

  it("do not reuse a group that has members", async () => {
    const ada = user({ name: "ada", home: "/home/ada", shell: "/usr/sbin/nologin" });
    const group = () => inHost(name, "getent group ada; id -u ada 2>/dev/null; true");
    await inHost(name, "groupadd --gid 4242 ada && usermod -aG ada games");
    try {
      const { failed } = await converge(root, [ada], { mode: "apply" });
      expect(failed?.why).toContain("there is a group ada already, and it is in use");
      expect(await group()).toBe("ada:x:4242:games\n");
      await inHost(name, "gpasswd -d games ada >/dev/null && usermod -g ada games");
      expect((await converge(root, [ada], { mode: "apply" })).failed?.why).toContain("in use");
      await inHost(name, "usermod -g games games");
      // A group without members was left by a killed useradd.
      expect((await converge(root, [ada], { mode: "apply" })).failed).toBeUndefined();
      expect(await inHost(name, "id -g ada")).toBe("4242\n");
    } finally {
      await inHost(name, "usermod -g games games; userdel -r ada 2>/dev/null; groupdel ada 2>/dev/null; true");
    }
  });

  it("reach the desired state in one exec", async () => {
    expect(sampleOperations).toHaveLength(20);
    const report = await apply();
    expect(report.failed).toBeUndefined();
    expect([report.changed, spawned]).toEqual([20, 1]);
    expect(await inHost(name, treeScript)).toMatchSnapshot();
  });

  it("change nothing the second time, and send no content", async () => {
    const whole = sent;
    const report = await apply();
    expect([report.changed, spawned]).toEqual([0, 1]);
    expect(report.results.map(({ status }) => status)).toEqual(sampleOperations.map(() => "ok"));
    expect(sent).toBeLessThan(whole);
  });

  it("report exactly the damage, and repair only that", async () => {
    await inHost(
      name,
      `chmod 644 /home/ada/.hermes/.env
       echo more >> /home/ada/.hermes/config.yaml
       chown root /home/ada/.hermes/memories
       systemctl stop ada.service
       rm /home/ada/.hermes/SOUL.md
       touch /srv/unwanted`,
    );
    const found = await damage();
    expect(found).toEqual([
      "directory /home/ada/.hermes/memories",
      "file /home/ada/.hermes/.env",
      "file /home/ada/.hermes/config.yaml",
      "file /home/ada/.hermes/SOUL.md",
      "unit ada.service",
      "no /srv/unwanted",
    ]);
    expect((await apply()).changed).toBe(6);
    expect(await damage()).toEqual([]);
  });

  // Drop-ins of our unit are ours; those for all services are the host's.
  const override = "/etc/systemd/system/ada.service.d/own.conf";
  it.each([
    ["ln -sfn /dev/null /etc/systemd/system/ada.service", "masked"],
    [`mkdir -p ${override.replace(/\/own.conf/, "")}; echo '[Service]' > ${override}`, `override ${override}`],
    [
      "systemctl set-property --runtime ada.service CPUWeight=50",
      "override /run/systemd/system.control/ada.service.d/50-CPUWeight.conf",
    ],
    ["ln -s /dev/null /run/systemd/system/ada.service", "override /run/systemd/system/ada.service"],
    [
      "cp /etc/systemd/system/ada-idle.service /run/systemd/system.control/ada.service; systemctl daemon-reload",
      "override /run/systemd/system.control/ada.service",
    ],
    ["rm /etc/systemd/system/multi-user.target.wants/ada.service", "disabled -> enabled"],
    ["echo '[Unit]' >> /etc/systemd/system/ada.service", "not reloaded"],
  ])("find and repair a unit after %s", async (script, difference) => {
    const whole = await inHost(name, treeScript);
    await inHost(name, `mkdir -p /run/systemd/system.control; ${script}`);
    const { results } = await converge(root, sampleOperations, { mode: "check" });
    const [found, ...more] = results.filter(({ status }) => status !== "ok");
    expect([found?.id, more]).toEqual(["unit ada.service", []]);
    expect(found?.differences).toContain(difference);
    expect((await apply()).changed).toBe(1);
    expect(await damage()).toEqual([]);
    expect(await inHost(name, treeScript)).toBe(whole);
  });

  it("end in the same state, however often they are killed", async () => {
    const whole = await inHost(name, treeScript);
    const child = await bundleScript("test/lab/sample-operations-child.ts");
    // Every step on one release; a sample on the other, unless the run is exhaustive.
    const step = name === "trial-1" || process.env.CLM_TEST_EXHAUSTIVE ? 1 : 6;
    for (let after = 1; after <= sampleOperations.length; after += step) {
      await inHost(name, clean);
      const killed = await runProgram(process.execPath, [child.script, shared, name, String(after)]);
      expect([after, killed.signal, killed.stderr]).toEqual([after, "SIGKILL", ""]);
      expect((await apply()).failed).toBeUndefined();
      expect([after, await inHost(name, treeScript)]).toEqual([after, whole]);
    }
    child.remove();
  }, 600_000);
});
