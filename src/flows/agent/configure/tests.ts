import type { Check } from "../../../agents/check.js";
import { Fault } from "../../../errors.js";
import { sh } from "../../../quote.js";
import type { Agent } from "../../../state/agents.js";
import { tryProvider } from "../../provider/test.js";
import { findType } from "../../provider/types.js";
import { askService } from "../../service-request.js";
import type { Session } from "../../session.js";
import { withProgress } from "../../with-progress.js";
import type { Desired } from "../desire.js";
import type { Changes } from "./changes.js";

/** Tests new or named answers: providers from the agent's host, which must reach them, channels from this machine. */
export async function testAnswers(
  session: Session,
  agent: Agent,
  { resolved, answers }: Desired,
  { changes, stages }: { changes: Changes; stages: { providers: boolean; channels: boolean } },
): Promise<Record<string, Check>> {
  const passed: Record<string, Check> = {};
  const test = async (title: string, ask: () => Promise<Check>) => {
    const check = await withProgress(session.ui, title, async () => mustWork(session, await ask()));
    passed[check.id] = check;
  };
  if (stages.providers) {
    const connection = await session.pool.connect(agent.host);
    const { model = [], fallbacks, auxiliary } = answers;
    for (const { provider, type, values } of [model, fallbacks, Object.values(auxiliary)].flat()) {
      if (passed[`provider.${provider}`]) continue;
      await test(`test provider ${provider} from ${agent.host.name}`, async () =>
        tryProvider(session, provider, await findType(session.configDir, type), values, connection));
    }
  }
  if (stages.channels) {
    const all = Object.keys(changes.channels).length === 0;
    for (const [name, values] of Object.entries(answers.channels)) {
      const request = resolved.manifest.channels[name]?.test;
      if (!request || !(all || changes.channels[name])) continue;
      await test(`test channel ${name}`, async () => ({
        ...(await askService(session, request, values)),
        id: `channel.${name}`,
      }));
    }
  }
  return passed;
}

function mustWork({ argv }: Session, check: Check): Check {
  if (check.result !== "fail") return check;
  const [kind, name] = check.id.split(/\.(.*)/s);
  throw new Fault("check-failed", `${kind} ${name} does not work; nothing was changed`, {
    why: check.reason,
    next: [...(check.fix ? [check.fix] : []), sh`clm ${argv} --no-test`],
    data: { check },
  });
}
