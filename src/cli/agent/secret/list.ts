import { listSecrets } from "../../../flows/agent/secret/list.js";
import { withSession } from "../../../flows/session.js";
import { age } from "../../../ui/time.js";
import type { Handler } from "../../command.js";
import type { list } from "./commands.js";

export const run: Handler<typeof list> = async ({ args }, clm) => {
  const secrets = await withSession(clm, async (session) => listSecrets(session, args.name));
  const now = clm.now();
  clm.list(secrets, {
    columns: [
      { title: "name", value: ({ name }) => name, whole: true },
      { title: "used by", value: ({ used_by }) => used_by },
      { title: "created", value: ({ created_at }) => `${age(created_at, now)} ago`, drop: 1 },
      { title: "updated", value: ({ updated_at }) => `${age(updated_at, now)} ago`, drop: 2 },
    ],
    name: ({ name }) => name,
    empty: `${args.name} has no secrets.`,
  });
};
