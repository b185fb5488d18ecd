import { spawn } from "node:child_process";
import { tunnelToDashboard } from "../../flows/tunnel/dashboard.js";
import type { Context, Handler } from "../command.js";
import { printEvent, urlOf } from "../tunnel/tunnel.js";
import type { open } from "./commands.js";

export const run: Handler<typeof open> = async ({ args, options }, clm) => {
  await clm.withSession((session) =>
    tunnelToDashboard(session, args.name, options, (happening, agent) => {
      const what = `the dashboard of ${agent.name} on ${agent.host}`;
      printEvent(clm, happening, { resolved: agent, what, afterwards: "reload the page" });
      if (happening.event === "open" && options.browser) showInBrowser(clm, urlOf(happening.port));
    }),
  );
};

/** Detached: the browser outlives clm. */
function showInBrowser({ ui, env }: Context, url: string): void {
  const opener = process.platform === "darwin" ? "open" : "xdg-open";
  const child = spawn(opener, [url], { env, detached: true, stdio: "ignore" });
  child.on("error", () => ui.warn(`could not open a browser: ${opener} is not installed`));
  child.unref();
}
