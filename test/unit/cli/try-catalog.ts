import { setTimeout as sleep } from "node:timers/promises";
import type { CatalogEntry } from "../../../src/cli/catalog.js";
import {
  type Command,
  command,
  flag,
  type Handler,
  type Noun,
  number,
  optional,
  required,
  rest,
  text,
} from "../../../src/cli/command.js";
import { Fault } from "../../../src/errors.js";
import { Secret } from "../../../src/secret.js";

/** Commands that stand for what real ones may do to the frame around them. Takes the place of the real catalog. */

const doing = (path: string, run: Handler<Command>, mutates = false) =>
  command({
    path,
    summary: `do ${path}`,
    mutates,
    formats: ["table", "json", "yaml", "name"],
    examples: [],
    load: async () => ({ run }),
  });

const wait = doing("try wait", async (_, clm) => {
  clm.ui.progress("patience");
  clm.ui.out("waiting\n");
  await sleep(60_000, undefined, { signal: clm.signal });
  return 0;
});

const waitAndChange = doing(
  "try change",
  async (_, clm) => {
    clm.ui.out("waiting\n");
    await new Promise((resolve) => clm.signal.addEventListener("abort", resolve));
    throw new Fault("connection-lost", "the host hung up");
  },
  true,
);

/** Ignores the abort signal. */
const stubborn = doing("try stubborn", async (_, clm) => {
  clm.ui.out("waiting\n");
  await sleep(60_000);
  return 0;
});

const finish = doing("try finish", async (_, clm) => {
  clm.ui.out("waiting\n");
  await new Promise((resolve) => clm.signal.addEventListener("abort", resolve));
  clm.ui.out("finished all the same\n");
  return 3;
});

const hang = doing("try hang", async (_, clm) => {
  setInterval(() => {}, 1000);
  clm.ui.out(`${"x".repeat(300_000)}\n`);
  return 0;
});

const crash = doing("try crash", async () => {
  setTimeout(() => {
    throw new TypeError("nobody caught this");
  }, 1);
  await sleep(60_000);
  return 0;
});

/** Waits for what never comes, with nothing left that could wake it. */
const stall = doing("try stall", async () => new Promise<never>(() => {}));

const bug = doing("try bug", async () => {
  throw new TypeError("x is not a function");
});

const fail = doing("try fail", async (_, clm) => {
  clm.ui.hide(new Secret("hunter2000"));
  clm.ui.out("half a hunter20");
  throw new Fault("unreachable", "wolf-i does not answer", { why: "password hunter2000", next: "clm try bug" });
});

const ask = doing("try ask", async (_, clm) => {
  return (await clm.ui.confirm({ message: "Really?", flag: "--yes" })) ? 0 : 1;
});

const flood = doing("try flood", async (_, clm) => {
  clm.signal.addEventListener("abort", () => clm.ui.debug(`stopped: ${clm.signal.reason.message}`));
  while (!clm.signal.aborted) {
    clm.ui.out(`${"y".repeat(1000)}\n`);
    await sleep(0);
  }
  clm.signal.throwIfAborted();
  return 0;
});

const rows = doing("try rows", async (_, clm) => {
  const all = [
    { name: "a", added_at: "2026", note: "日本\u001b[2J" },
    { name: "b", added_at: "2027" },
  ];
  clm.list<(typeof all)[number]>(all, {
    columns: [
      { title: "name", value: (row) => row.name },
      { title: "note", value: (row) => row.note },
    ],
    details: (row) => (row.note ? [`${row.name} at length:`, `  ${row.note}`] : []),
    name: (row) => row.name,
  });
  return undefined;
});

const none = doing("try none", async (_, clm) => {
  clm.list([], { columns: [{ title: "name", value: () => "" }], name: () => "", empty: "Nothing yet." });
  return undefined;
});

const one = doing("try one", async (_, clm) => {
  clm.show({ name: "a", agents: 2 }, () => "Name: a\u0007");
  return undefined;
});

const context = command({
  path: "try context",
  summary: "tell what a command is given",
  args: { words: rest("words") },
  options: { code: number("N", "code"), loud: flag("loud"), who: text("WHO", "who", { default: "me" }) },
  formats: ["table", "json"],
  mutates: true,
  examples: [],
  load: async () => ({ run: tell }),
});

const tell: Handler<Command> = async ({ args, options }, { ui, signal, list, show, env, ...clm }) => {
  ui.out(JSON.stringify({ args, options, ...clm, now: clm.now() }));
  return Number(options.code);
};

const innerShow = command({
  path: "try inner show",
  summary: "show what is inside",
  args: { what: required("what", "agent"), part: optional("the part", "version") },
  options: { loud: flag("loud"), from: text("PROVIDER", "from where", { completes: "provider" }) },
  examples: ["clm try inner show core"],
  load: async () => ({ run: tell }),
});

/** A noun inside a noun, with a verb of its own and one that its parent has too. */
const inner: Noun = {
  name: "try inner",
  summary: "things inside of things",
  commands: [innerShow, doing("try inner one", async () => 7), doing("try inner polish", async () => 0)],
  nouns: [
    { name: "try inner core", summary: "the innermost", commands: [doing("try inner core melt", async () => 9)] },
  ],
};

const tryNoun: Noun = {
  name: "try",
  summary: "try things",
  commands: [
    wait,
    waitAndChange,
    stubborn,
    finish,
    hang,
    crash,
    stall,
    bug,
    fail,
    ask,
    flood,
    rows,
    none,
    one,
    context,
  ],
  nouns: [inner],
};

export const catalog: readonly CatalogEntry[] = [{ ...tryNoun, verbs: async () => tryNoun }];
