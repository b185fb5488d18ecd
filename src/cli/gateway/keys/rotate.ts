import { rotateGatewayKey } from "../../../flows/gateway/keys/rotate.js";
import { withSession } from "../../../flows/session.js";
import type { Handler } from "../../command.js";
import type { rotate } from "./commands.js";
import { handOutKey } from "./hand-out.js";
import { lengthFrom } from "./terms.js";

export const run: Handler<typeof rotate> = async ({ args, options }, clm) => {
  const grace = options.grace === undefined ? undefined : lengthFrom("--grace", options.grace, clm.now());
  await withSession(clm, (session) =>
    rotateGatewayKey(session, args.key, { grace }, (record, key) => {
      handOutKey(clm, record, key);
      if (clm.format === "json") return;
      const { former } = record;
      clm.ui.note(former ? `the old key is valid until ${former.until}` : "the old key is not valid any more");
    }),
  );
};
