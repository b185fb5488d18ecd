// npm run bench [ROW…]: each row measures clm and a peer or a floor in the same run and reports the ratio.
// Prints a table, and writes JSON to bench/results/latest.json. With --smoke it only checks that every row works; see
// size.mjs.
import { mkdirSync, writeFileSync } from "node:fs";
import { ensureModules, must } from "../scripts/setup.mjs";
import { stoppable } from "../scripts/stoppable.mjs";
import { allLabsDown } from "./lab.mjs";
import { smoke } from "./size.mjs";

ensureModules();
must("node", ["scripts/build.mjs"]);

const rows = {
  startup: "./rows/startup.mjs",
  state: "./rows/state.mjs",
  fleet: "./rows/fleet.mjs",
  configure: "./rows/configure.mjs",
  ps: "./rows/ps.mjs",
  processes: "./rows/processes.mjs",
  logs: "./rows/logs.mjs",
  chat: "./rows/chat.mjs",
  gateway: "./rows/gateway.mjs",
};
const wanted = process.argv.slice(2).filter((word) => word !== "--smoke");
const unknown = wanted.filter((word) => !Object.hasOwn(rows, word));
if (unknown.length > 0) {
  console.error(`there is no row ${unknown.join(", ")}; the rows are ${Object.keys(rows).join(", ")}`);
  process.exit(2);
}
const results = [];

async function measureRows() {
  for (const [name, module] of Object.entries(rows)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    console.error(`measuring ${name} …`);
    const measured = await (await import(module)).measure();
    results.push(...measured.map((each) => ({ row: name, ...each })));
  }
  return 0;
}

const stopped = await stoppable(measureRows, allLabsDown);
if (stopped) process.exit(stopped);

// `told` and `peerTold` replace `ms` and `peerMs` in the table: for other units, and for less than a millisecond.
const cells = results.map(({ what, ms, told, against, peerMs, peerTold, ratio, goal, met, note }) => [
  what,
  told ?? (ms === undefined ? "-" : `${ms.toFixed(1)} ms`),
  against,
  peerTold ?? (peerMs === undefined ? "-" : `${peerMs.toFixed(1)} ms`),
  ratio === undefined ? (note ?? "-") : ratio,
  goal,
  met === undefined || smoke ? "-" : met ? "yes" : "NO",
]);
const table = [["what", "clm", "against", "peer", "ratio", "goal", "met"], ...cells];
const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
for (const row of table)
  console.log(
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join("   ")
      .trimEnd(),
  );

if (smoke) {
  console.log("\nEvery row ran once, at its smallest size: the numbers mean nothing.");
} else {
  mkdirSync("bench/results", { recursive: true });
  writeFileSync(
    "bench/results/latest.json",
    `${JSON.stringify({ at: new Date().toISOString(), node: process.version, results }, null, 2)}\n`,
  );
}
