import { homedir } from "node:os";
import { mustBeOurs, resolveConfigDir } from "../state/config-dir.js";
import { serializerFor } from "../ui/format.js";
import { plain } from "../ui/plain.js";
import { table } from "../ui/table.js";
import type { Terminal } from "../ui/terminal.js";
import type { Context } from "./command.js";
import type { Globals } from "./globals.js";

type Runtime = Pick<Context, "env" | "now" | "signal" | "argv" | "stdin" | "untilStopped" | "mayTakeToStop">;

export async function createContext(ui: Terminal, globals: Globals, runtime: Runtime): Promise<Context> {
  const { format, yes, dryRun, sudoPasswordFile } = globals;
  // Loaded now, so that printing is synchronous.
  const write = format === "json" || format === "yaml" ? await serializerFor(format) : undefined;
  const { env } = runtime;
  const dirFor = (option: string | undefined) => resolveConfigDir(option, env, env.HOME || homedir());
  const configDir = dirFor(globals.configDir);
  mustBeOurs(configDir);

  const context: Context = {
    ...runtime,
    ui,
    configDir,
    ...(configDir !== dirFor(undefined) && { elsewhere: configDir }),
    format,
    screen: ui.screen,
    yes,
    dryRun,
    sudoPasswordFile,
    withSession: async (work) => (await import("../flows/session.js")).withSession(context, work),
    list(rows, view) {
      if (write) ui.data(view.data ? rows.map(view.data) : rows, write);
      else if (format === "name") ui.out(rows.map((row) => `${plain(view.name(row))}\n`).join(""));
      else if (rows.length > 0) {
        const details = rows.flatMap((row) => view.details?.(row) ?? []).map((line) => `${plain(line)}\n`);
        ui.out(table(rows, view.columns, { clean: ui.clean, width: ui.width, paint: ui.screen?.paint }));
        if (details.length > 0) ui.out(`\n${details.join("")}`);
      } else if (view.empty) ui.note(view.empty);
    },
    show(value, text = () => "") {
      if (write) return void ui.data(value, write);
      const lines = plain(text());
      if (lines !== "") ui.out(lines.endsWith("\n") ? lines : `${lines}\n`);
    },
  };
  return context;
}
