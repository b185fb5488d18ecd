import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import port from "../../../../../src/agents/probe/proof/port.sh?raw";

type Line = [local: string, remote: string, state: string, uid: number, inode: number];

const loopback = "0100007F";
const mapped = `0000000000000000FFFF0000${loopback}`;
const every = "0".repeat(8);
const everySix = "0".repeat(32);
/** The agent's port is 8642; clm logs in as 1000; the agent is 1001, and mallory 1002. */
const at = (address: string, of = "21C2") => `${address}:${of}`;
const listening = (address: string, uid: number, inode: number): Line => [
  at(address),
  at(every, "0000"),
  "0A",
  uid,
  inode,
];
/** Both ends of a connection to the port, from another port. */
const connection = (
  from: string,
  uid: number,
  end: { uid?: number; inode: number; state?: string; local?: string },
): Line[] => [
  [at(loopback, from), at(loopback), "01", uid, 50],
  [at(end.local ?? loopback), at(end.local ?? loopback, from), end.state ?? "01", end.uid ?? 1001, end.inode],
];
const own = listening(loopback, 1001, 7);
const ownLines = ["listen=0100007F/7", "holder=yes 700 ada"];

/** What the unit's processes hold: 700 the listener and one connection, 701 another. */
const sockets = ["/proc/700/fd/3 socket:[7]", "/proc/700/fd/4 socket:[8]", "/proc/701/fd/4 socket:[9]"];

function judged(lines: Line[], { processes = ["700", "701"], held = sockets, login = "1000" } = {}): string[] {
  const table = lines.map(
    ([local, remote, state, uid, inode], line) =>
      `   ${line}: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000 ${uid} 0 ${inode} 1 0000 20 4 30 10 -1`,
  );
  const script = `${port}\nawk -v hex=21C2 -v login=${login} -v user=ada -v main=700 "$judge_sockets" - processes=1 /dev/fd/3 3<<END
${processes.join("\n")}
END`;
  const out = execFileSync("sh", ["-c", script], { input: [...table, ...held, ""].join("\n"), encoding: "utf8" });
  return out.split("\n").filter((line) => line !== "");
}

it.each<[string, Line[], string[]]>([
  ["nobody", [], []],
  ["its own process", [own], ownLines],
  ["its own process, on every address", [listening(everySix, 1001, 7)], [`listen=${everySix}/7`, "holder=yes 700 ada"]],
  ["another process", [listening(loopback, 1002, 66)], ["listen=0100007F/66", "holder=no"]],
  ["another process, on every address", [listening(every, 1002, 66)], ["listen=00000000/66", "holder=no"]],
  ["another process, by IPv6 for both", [listening(everySix, 1002, 66)], [`listen=${everySix}/66`, "holder=no"]],
  ["another process, by a mapped address", [listening(mapped, 1002, 66)], [`listen=${mapped}/66`, "holder=no"]],
  ["its own, and another on an address of the loopback we never use", [own, listening("0200007F", 1002, 66)], ownLines],
  ["its own, and another port", [own, [at(loopback, "21C3"), at(every, "0000"), "0A", 1002, 66]], ownLines],
])("the listener: %s", (_about, lines, expected) => {
  expect(judged(lines)).toEqual(expected);
});

it.each<[string, Line[], string[]]>([
  ["accepted by the agent", connection("A000", 1000, { inode: 8 }), []],
  ["accepted by another of its processes", connection("A000", 1000, { inode: 9 }), []],
  ["accepted by the agent, which listens by IPv6", connection("A000", 1000, { inode: 8, local: mapped }), []],
  ["not accepted yet", connection("A000", 1000, { inode: 0, uid: 0 }), []],
  ["not accepted yet, and its last packet was not taken", connection("A000", 1000, { inode: 0, state: "03" }), []],
  ["closed by who had it", connection("A000", 1000, { inode: 0, state: "05" }), []],
  [
    "accepted by another, who does not listen any more",
    connection("A000", 1000, { inode: 66, uid: 1002 }),
    ["stranger=66"],
  ],
  ["of root, accepted by another", connection("A000", 0, { inode: 66, uid: 1002 }), ["stranger=66"]],
  [
    "accepted by another, who will send nothing more but reads on",
    connection("A000", 1000, { inode: 66, uid: 1002, state: "05" }).map((line, at) =>
      at ? line : [line[0], line[1], "08", 1000, 50],
    ),
    ["stranger=66"],
  ],
  [
    "accepted by another, with no first end in sight",
    connection("A000", 1000, { inode: 66 }).slice(1),
    ["stranger=66"],
  ],
  [
    "that was closed, kept by another who has heard its end",
    [
      [at(loopback, "A000"), at(loopback), "05", 0, 0],
      [at(loopback), at(loopback, "A000"), "08", 1002, 66],
    ],
    [],
  ],
  ["that is gone, kept by another", [[at(loopback), at(loopback, "A000"), "08", 1002, 66]], []],
  [
    "with no other end in sight (SYN cookies)",
    connection("A000", 1000, { inode: 8 }).slice(0, 1),
    ["stranger=0 0100007F:A000"],
  ],
  ["connected with itself, as nobody listened", [[at(loopback), at(loopback), "01", 1000, 50]], ["stranger=50"]],
  ["of mallory, accepted by mallory", connection("A000", 1002, { inode: 66, uid: 1002 }), []],
  ["of mallory, with no other end in sight", connection("A000", 1002, { inode: 8 }).slice(0, 1), []],
  [
    "of mallory, from the port to somewhere else",
    [
      [at(loopback), at("0200007F", "1F90"), "01", 1002, 66],
      [at("0200007F", "1F90"), at(loopback), "01", 1002, 67],
    ],
    [],
  ],
  ["of mallory, from the port on another address", [[at("0200007F"), at(loopback, "1F90"), "01", 1002, 66]], []],
])("a connection %s", (_about, lines, strangers) => {
  expect(judged([own, ...lines])).toEqual([...ownLines, ...strangers]);
});

it("a process that ended during the check proves nothing: its pid may be reused", () => {
  expect(judged([own], { processes: ["701"] })).toEqual(["listen=0100007F/7", "holder=no"]);
});

it("a root login has root's connections", () => {
  const lines = connection("A000", 1000, { inode: 66, uid: 1002 });
  expect(judged([own, ...lines], { login: "0" })).toEqual(ownLines);
});
