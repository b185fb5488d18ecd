import type { Change } from "../../../agents/plan/change.js";
import type { Proof } from "../../../agents/probe/proof/proof.js";
import { Fault } from "../../../errors.js";
import type { Pace } from "../../../flows/fleet/each.js";
import { secretFrom } from "../../../flows/secret-source.js";
import type { Session } from "../../../flows/session.js";
import type { Secret } from "../../../secret.js";
import { agentsOf } from "../../../state/agents.js";
import { hostStore } from "../../../state/hosts.js";
import { didYouMean } from "../../../text/nearest.js";
import type { Context, Handler, Input } from "../../command.js";
import { type AgentTarget, batchPace, runOnAgents } from "../../run-on-agents.js";
import { longOption } from "../../spelling.js";
import { changeText } from "../print-result.js";
import { briefCheckView, checkView } from "../view.js";
import { runtime } from "./commands.js";
import { describeStatus, detailLines, inBrief, mustRun } from "./view.js";

type Given = Input<NonNullable<typeof runtime.args>, NonNullable<typeof runtime.options>>["options"];

/** What may be done, under every name it has in Hermes. */
const actions = {
  codex: "codex",
  on: "codex",
  enable: "codex",
  codex_app_server: "codex",
  auto: "auto",
  off: "auto",
  disable: "auto",
  login: "login",
  status: "status",
} as const;

type Action = (typeof actions)[keyof typeof actions];

export const run: Handler<typeof runtime> = ({ args, options }, clm) => {
  const { names, action } = wordsOf(clm, args.names, options);
  mustFit(action, options);
  const target = {
    command: runtime,
    names,
    options,
    trailing: action === "status" ? [] : [action],
    pace: paceFor(options),
  };
  if (action === "codex") return enable(clm, target, options);
  if (action === "auto") return disable(clm, target, options);
  return action === "login" ? login(clm, target, options) : status(clm, target);
};

/** The last word says what to do, unless it is all there is to say whom it is about. */
function wordsOf({ configDir }: Context, words: string[], options: Given): { names: string[]; action: Action } {
  const last = words.at(-1) ?? "";
  if (!Object.hasOwn(actions, last)) {
    if (words.length > 1) mustBeAgent(configDir, last);
    return { names: words, action: "status" };
  }
  const chosen = options.all || options.host.length + options.label.length > 0 || options.type !== undefined;
  const isAgent =
    words.length === 1 && !chosen && agentsOf(hostStore(configDir).read()).some(({ name }) => name === last);
  if (isAgent) return { names: words, action: "status" };
  return { names: words.slice(0, -1), action: actions[last as keyof typeof actions] };
}

/** Somebody may have mistyped what is to be done. */
function mustBeAgent(configDir: string, word: string): void {
  if (!/^[A-Za-z_]+$/.test(word) || agentsOf(hostStore(configDir).read()).some(({ name }) => name === word)) return;
  throw new Fault("usage", `'${word}' is neither an agent nor one of codex, auto and login`, {
    ...didYouMean(word.toLowerCase(), Object.keys(actions)),
    next: "clm agent runtime --help",
  });
}

/** Flags that mean nothing elsewhere. */
const flagsOf: Record<Action, (keyof Given)[]> = {
  codex: [
    ...(["codexVersion", "installCodex", "codexFile", "codexHome", "permissions"] as const),
    ...(["mirror", "noMirror", "auxiliary", "skipChat"] as const),
  ],
  auto: ["clean", "skipChat"],
  login: ["withApiKey", "codexHome"],
  status: [],
};

function mustFit(action: Action, options: Given): void {
  // A list that nobody gave is empty.
  const isSaid = (name: keyof Given) => !["", "undefined", "false"].includes(String(options[name]));
  for (const [other, names] of Object.entries(flagsOf)) {
    const said = names.find((name) => isSaid(name) && !flagsOf[action].includes(name));
    if (said) throw new Fault("usage", `${longOption(said)} is for ${other}; ${action} does not take it`);
  }
  if (options.mirror && options.noMirror) throw new Fault("usage", "--mirror and --no-mirror contradict each other");
  if (!options.installCodex && (options.codexVersion ?? options.codexFile) !== undefined) {
    throw new Fault("usage", `${options.codexFile ? "--codex-file" : "--codex-version"} goes with --install-codex`);
  }
}

/** One first, then the others; the first that fails stops those not begun yet. */
function paceFor(options: Given): Pace {
  const { maxFail = 1, ...pace } = batchPace(options);
  return { ...pace, canary: true, ...(!options.continue && { maxFail }) };
}

type Target = AgentTarget & { pace: Pace };

function enable(clm: Context, target: Target, options: Given): Promise<number | undefined> {
  const { codexHome, permissions, auxiliary, skipChat, installCodex, codexVersion, codexFile } = options;
  const mirror = options.mirror ? true : options.noMirror ? false : undefined;
  const install = installCodex ? { version: codexVersion, file: codexFile } : undefined;
  return runOnAgents(clm, target, {
    run: async (session, ref) => {
      const { enableCodex } = await import("../../../flows/agent/runtime/enable.js");
      return enableCodex(session, ref, { home: codexHome, permissions, mirror, auxiliary, skipChat, install });
    },
    json: ({ agent: _, ...seen }) => seen,
    lines: ({ changes, proofs, notes }, subject) => {
      const same = changes.length === 0;
      if (clm.dryRun)
        return [
          ...wouldChange(changes, subject),
          ...notes,
          ...(same ? [`${subject}runs on Codex already; nothing would change`] : []),
        ];
      if (proofs.length === 0)
        return [...notes, `${subject}is to run on Codex; it does not run now, and was not asked`];
      const how = `${same ? " already; nothing was changed" : ""}${hasAnswered(proofs) ? ", and answers" : ""}`;
      return [...notes, `${subject}runs on Codex${how}`];
    },
    print: ({ checks, changes, proofs }) => {
      clm.list(checks, checkView);
      clm.ui.out("\n");
      showChanges(clm, changes);
      if (proofs.length > 0) clm.list(proofs, briefCheckView);
    },
  });
}

function disable(clm: Context, target: Target, { clean, skipChat }: Given): Promise<number | undefined> {
  return runOnAgents(clm, target, {
    run: async (session, ref) =>
      (await import("../../../flows/agent/runtime/auto.js")).returnToAuto(session, ref, { clean, skipChat }),
    json: ({ agent: _, ...seen }) => seen,
    lines: ({ switched, changes, proofs, notes }, subject) => {
      const already = `${subject}runs its turns itself already`;
      if (clm.dryRun)
        return [
          ...wouldChange(changes, subject),
          ...notes,
          ...(changes.length > 0 ? [] : [`${already}; nothing would change`]),
        ];
      if (changes.length === 0) return [`${already}; nothing was changed`];
      if (!switched) return [...notes, `${already}; Codex' files are clean`];
      const how = hasAnswered(proofs) ? ", and answers" : "";
      return [...notes, `${subject}runs its turns itself again, from the next session on${how}`];
    },
    print: ({ changes, proofs }) => {
      showChanges(clm, changes);
      if (proofs.length > 0) clm.list(proofs, briefCheckView);
    },
  });
}

const hasAnswered = (proofs: Proof[]): boolean => proofs.some(({ id, result }) => id === "chat" && result === "ok");

/** With several agents; for one agent `showChanges` prints them in full. */
const wouldChange = (changes: Change[], subject: string): string[] =>
  subject === "" ? changes.map((change) => `would change ${changeText(change)}`) : [];

/** What was changed; in a dry run line by line. */
function showChanges(clm: Context, changes: Change[]): void {
  const lines = changes.flatMap((change) => [
    `${clm.dryRun ? "would change" : "changed"} ${changeText(change)}`,
    ...(clm.dryRun ? detailLines(change) : []),
  ]);
  if (lines.length > 0) clm.ui.out(`${lines.join("\n")}\n\n`);
}

async function login(
  clm: Context,
  target: Target,
  { withApiKey, codexHome: home }: Given,
): Promise<number | undefined> {
  const { loginForCodex } = await import("../../../flows/agent/runtime/login.js");
  let key: Promise<Secret> | undefined;
  // There is one on stdin, for all of them.
  const keyFrom = (session: Session) => {
    key ??= secretFrom(session, { kind: "stdin" }, { what: "the API key", flag: "--with-api-key" });
    return key;
  };
  // A person logs in to one at a time.
  const pace = { ...target.pace, parallel: withApiKey ? target.options.parallel : 1 };
  return runOnAgents(
    clm,
    { ...target, pace },
    {
      run: async (session, ref) => {
        const apiKey = withApiKey ? await keyFrom(session) : undefined;
        return loginForCodex(session, ref, { apiKey, home, hear: (line) => session.ui.note(line) });
      },
      json: ({ agent: _, ...seen }) => seen,
      lines: ({ agent, codex, needless, hermes }, subject) =>
        clm.dryRun
          ? []
          : [
              codex
                ? `${subject}has a Codex that is logged in (${codex})`
                : `${subject}has a Codex that ${needless ? "needs no login: its model provider is your own" : "is not logged in"}`,
              hermes
                ? `${subject}is logged in itself`
                : `${subject}itself has no login: clm agent runtime ${agent.ref} login`,
            ],
    },
  );
}

function status(clm: Context, target: Target): Promise<number | undefined> {
  return runOnAgents(
    clm,
    { ...target, pace: { parallel: target.options.parallel } },
    {
      run: async (session, ref) => (await import("../../../flows/agent/runtime/status.js")).runtimeStatus(session, ref),
      json: ({ agent: _, codex: { home, program, version }, ...seen }) => ({
        ...seen,
        codex: { home, program, version },
      }),
      verify: async (seen) => mustRun(seen),
      lines: (seen, subject) => (subject === "" ? [inBrief(seen)] : []),
      print: (seen) => {
        clm.ui.out(`${describeStatus(seen).join("\n")}\n\n`);
        clm.list(seen.checks, seen.runtime === "codex" ? briefCheckView : checkView);
      },
    },
  );
}
