import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { absent, dir, file, job, pkg, run, unit, user } from "../../../../src/remote/operations/operation.js";
import { programFor } from "../../../../src/remote/operations/program.js";
import { Secret } from "../../../../src/secret.js";

const wish = { owner: "root", mode: 0o600 };
const command = { as: "ada", argv: ["true"], timeout: 60_000 };

describe("an operation", () => {
  it.each([
    [user({ name: "ada", home: "/home/ada", shell: "/bin/sh" }), "user ada"],
    [dir("/srv/x", wish), "directory /srv/x"],
    [file("/srv/x/.env", { ...wish, content: "" }), "file /srv/x/.env"],
    [file("/srv/a\nb", { ...wish, content: "" }), "file /srv/a\\x0ab"],
    [unit("ada.service", {}), "unit ada.service"],
    [absent({ path: "/srv/x" }), "no /srv/x"],
    [absent({ user: "ada" }), "no user ada"],
    [absent({ unit: "ada.service" }), "no unit ada.service"],
    [pkg(["curl", "jq"]), "packages curl, jq"],
    [run({ argv: ["touch", "/srv/x"] }), "run touch /srv/x"],
    [run({ script: "id\n", title: "say who we are" }), "run say who we are"],
    [job({ name: "install-ada", ...command }), "job install-ada"],
  ])("%o is called %s", (operation, id) => expect(operation.id).toBe(id));

  it.each(
    [
      () => dir("relative", wish),
      () => dir("/a/../b", wish),
      () => dir("/a//b", wish),
      () => dir("/a/", wish),
      () => dir("/a/./b", wish),
      () => file("/a\0", { ...wish, content: "" }),
      () => file("/a", { ...wish, mode: 0o10000, content: "" }),
      () => file("/a", { ...wish, mode: 6.5, content: "" }),
      () => file("/a", { ...wish, owner: "root:root", content: "" }),
      () => file("/a", { ...wish, owner: "-R", content: "" }),
      () => file("/a", { ...wish, group: "", content: "" }),
      () => file("/a", { ...wish, content: Buffer.from([255]), secret: true }),
      () => user({ name: "Ada Lovelace", home: "/home/ada", shell: "/bin/sh" }),
      () => user({ name: "ada", home: "/home/ada", shell: "/bin/sh", comment: "a:b" }),
      () => user({ name: "ada", home: "/home/a:da", shell: "/bin/sh" }),
      () => user({ name: "ada", home: "/home/ada", shell: "/bin/sh", groups: ["a,b"] }),
      () => unit("../x.service", {}),
      () => unit("x", {}),
      () => unit("-x.service", {}),
      () => absent({ user: "root" }),
      () => pkg(["-y"]),
      () => run({ argv: [] }),
      () => run({ argv: ["x"], env: { "A B": "" } }),
      () => run({ argv: ["x"], timeout: 60 }),
      () => job({ name: "a/b", ...command }),
      () => job({ name: "a", ...command, creates: "done" }),
    ].map((make) => [String(make).slice(6), make] as const),
  )("%s is refused", (_text, make) => {
    expect(make).toThrow(expect.objectContaining({ fault: "bad-input" }));
  });

  it.each([
    ...["/", "/home", "/etc", "/tmp", "", "home/x", "../x", "/home/..", "/home/x/../..", "/home//x", "/home/x/"],
    ...["/usr/bin", "/usr/lib", "/var/lib", "/var/log", "/etc/ssh", "/etc/systemd/system", "/etc/passwd", "/root/.ssh"],
    ...["/proc/1", "/dev/sda", "/sys/kernel", "/boot/grub/x", "/bin/sh"],
  ])("never removes %j", (path) => {
    expect(() => absent({ path })).toThrow(expect.objectContaining({ fault: "bad-input" }));
  });

  it.each(["/home/x", "/srv/x/y", "/etc/hermes", "/etc/systemd/system/x.service", "/var/lib/x", "/usr/local/bin/x"])(
    "may remove %s",
    (path) => expect(absent({ path }).name).toBe(path),
  );

  it.each([
    file("/srv/.env", { ...wish, content: "hunter2", secret: true }),
    file("/srv/.env", { ...wish, content: Buffer.from("hunter2"), secret: true }),
    file("/srv/.env", { ...wish, content: new Secret("hunter2") }),
  ])("with a secret shows it nowhere", (operation) => {
    const { script, contents } = programFor([operation], "nonce");
    expect([inspect(operation), JSON.stringify(operation), script].join()).not.toContain("hunter2");
    expect(contents.get(0)?.toString()).toBe("hunter2");
  });
});

describe("a script", () => {
  const script = (...operations: Parameters<typeof programFor>[0]) =>
    programFor(operations, "nonce").script.split("operations() {\n:\n")[1]?.split("\n}\n")[0]?.split("\n");

  it("is one call per operation", () => {
    expect(
      script(
        user({ name: "ada", home: "/home/ada", shell: "/bin/sh", locked: true, groups: ["www-data", "adm"] }),
        dir("/srv/it's", { owner: "ada", mode: 0o2750 }),
        unit("ada.service", { enabled: false, state: "stopped" }),
        pkg(["curl"]),
        run({ as: "ada", argv: ["echo", "a b"], timeout: 1500 }),
        job({ name: "install", ...command, argv: ["/bin/sh", "-c", "echo $HOME"], cwd: "/srv" }),
      ),
    ).toEqual([
      "op 0 user ada /home/ada /bin/sh yes '' '' www-data adm",
      "op 1 dir '/srv/it'\\''s' ada '' 2750",
      "op 2 unit ada.service no stopped",
      "op 3 pkg curl",
      "op 4 run ada '' 2 '' echo 'a b'",
      expect.stringMatching(/^op 5 job install [0-9a-f]{16} ada \/srv 60 '' \/bin\/sh -c 'echo \$\$HOME'$/),
    ]);
  });

  it("treats other arguments, user or directory as another job", () => {
    const digest = (change: object) => script(job({ name: "x", ...command, ...change }))?.[0]?.split(" ")[4];
    const digests = [{}, { argv: ["false"] }, { as: "root" }, { cwd: "/srv" }, { env: { A: "1" } }].map(digest);
    expect(new Set(digests).size).toBe(5);
    expect(digest({ timeout: 90_000 })).toBe(digests[0]);
  });
});
