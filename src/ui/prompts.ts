import { Fault } from "../errors.js";
import { Secret } from "../secret.js";
import type { InStream, OutStream } from "./streams.js";
import type { Choice, Question, Ui } from "./ui.js";

export interface PromptOptions {
  stdin: () => InStream;
  /** Questions go here: stdout is for results. */
  stderr: OutStream;
  interactive: () => boolean;
  /** `--yes` answers only the questions that name it: it must not trust a host's key. */
  yes: boolean;
  signal?: AbortSignal | undefined;
  clean(text: string): string;
  hide(secret: Secret): void;
  /** Pauses live progress while the question is on the terminal. */
  withTerminal<T>(ask: () => Promise<T>): Promise<T>;
}

type Kind =
  | { type: "confirm"; default: boolean }
  | { type: "input"; default?: string }
  | { type: "select"; choices: Choice[]; default?: string; pageSize: number }
  | { type: "password"; mask: false; toggleMask: false };

/** Questions to a person. Inquirer is loaded for the first one; most commands ask none. */
export function createPrompts(options: PromptOptions): Pick<Ui, "confirm" | "ask" | "choose" | "askSecret"> {
  const { stderr, signal, clean } = options;

  async function ask(question: Question, kind: Kind): Promise<unknown> {
    const message = clean(question.message);
    if (!options.interactive()) {
      throw new Fault("needs-answer", `no terminal to prompt on: ${message}`, {
        why: `${question.flag} answers it`,
        flag: question.flag,
      });
    }
    const { default: inquirer } = await import("inquirer");
    const input = options.stdin();
    const left = leaving(input);
    const prompt = inquirer.createPromptModule({
      input,
      output: stderr,
      signal: AbortSignal.any([left.signal, ...(signal ? [signal] : [])]),
    });
    try {
      const answers = await options.withTerminal(() =>
        prompt<{ answer: unknown }>([{ name: "answer", message, ...kind }]),
      );
      return answers.answer;
    } catch (error) {
      if (stopped(error)) throw new Fault("interrupted", "stopped at a prompt", { why: message, cause: error });
      throw error;
    } finally {
      left.forget();
    }
  }

  return {
    confirm: async (question) =>
      (options.yes && question.flag === "--yes") || (await ask(question, { type: "confirm", default: false })) === true,
    ask: async ({ initial, ...question }) =>
      String(await ask(question, { type: "input", ...(initial !== undefined && { default: initial }) })),
    choose: async ({ choices, initial, ...question }) => {
      const shown = choices.map(({ value, name }) => ({ value, name: clean(name ?? value) }));
      const first = initial !== undefined && { default: initial };
      return String(await ask(question, { type: "select", choices: shown, pageSize: 12, ...first }));
    },
    // Without `toggleMask: false`, Ctrl-T makes inquirer show the input.
    async askSecret(question) {
      const secret = new Secret(String(await ask(question, { type: "password", mask: false, toggleMask: false })));
      options.hide(secret);
      return secret;
    },
  };
}

/**
 * Aborted when no answer can come any more. At Ctrl-D readline closes, which inquirer 14 ignores: its promise stays pending,
 * and clm would hang or end with 0. The only visible sign is that the input is paused.
 */
function leaving(input: InStream): { signal: AbortSignal; forget: () => void } {
  const gone = new AbortController();
  // An answer closes readline too, but has been read by then.
  const onEnd = () => gone.abort();
  const events = ["pause", "end", "close"] as const;
  for (const event of events) input.on(event, onEnd);
  return {
    signal: gone.signal,
    forget: () => {
      for (const event of events) input.off(event, onEnd);
    },
  };
}

/** Ctrl-C is `ExitPromptError`, our own signals `AbortPromptError`. Known by name: inquirer does not export the classes. */
const stopped = (error: unknown): boolean =>
  error instanceof Error && (error.name === "ExitPromptError" || error.name === "AbortPromptError");
