import { spawn } from "node:child_process";
import { withSession } from "../../../flows/session.js";
import { tunnelToDashboard } from "../../../flows/tunnel/dashboard.js";
import type { Context, Handler } from "../../command.js";
import { tell, urlOf } from "../../tunnel/tell.js";
import type { open } from "./commands.js";

export const run: Handler<typeof open> = async ({ args, options }, clm) => {
  await withSession({ ...clm, sudoPasswordFile: options.sudoPasswordFile }, (session) =>
    tunnelToDashboard(session, args.name, options, (happening, subject) => {
      const what = `the dashboard of ${subject.name} on ${subject.host}`;
      tell(clm, happening, { subject, what, afterwards: "load the page anew" });
      if (happening.event === "open" && options.browser) showInBrowser(clm, urlOf(happening.port));
    }),
  );
  return 0;
};

/** It outlives us, and what it says is not ours. */
function showInBrowser({ ui, env }: Context, url: string): void {
  const opener = process.platform === "darwin" ? "open" : "xdg-open";
  const child = spawn(opener, [url], { env, detached: true, stdio: "ignore" });
  child.on("error", () => ui.warn(`no browser was opened: there is no ${opener} here`));
  child.unref();
}
