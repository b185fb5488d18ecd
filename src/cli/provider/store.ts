import type { Check } from "../../agents/check.js";
import type { Values } from "../../agents/manifest/fields.js";
import { Fault } from "../../errors.js";
import { tryProvider } from "../../flows/provider/test.js";
import { type KnownType, secretFields } from "../../flows/provider/types.js";
import type { Session } from "../../flows/session.js";
import { sh } from "../../quote.js";
import type { Secret } from "../../secret.js";
import type { Ui } from "../../ui/ui.js";

/** Makes these the provider's only secrets in secrets.json. */
export async function storeSecrets(
  { secrets }: Session,
  name: string,
  type: KnownType,
  values: Record<string, Secret>,
): Promise<void> {
  const owner = { provider: name };
  const stored = secretFields(type).filter((field) => Object.hasOwn(values, field.name));
  for (const field of stored) {
    const value = values[field.name];
    if (value) await secrets.set(owner, field.secret, value, `${field.name} of provider ${name}`);
  }
  const others = secrets.names(owner).filter((secret) => !stored.some((field) => field.secret === secret));
  for (const secret of others) await secrets.unset(owner, secret);
}

/** Tests the provider before it is stored; throws `unstored` with the reason when the test fails. */
export async function mustWork(
  session: Session,
  name: string,
  type: KnownType,
  values: Values,
  unstored: string,
): Promise<Check> {
  const check = await tryProvider(session, name, type, values);
  const { result, reason, fix } = check;
  if (result !== "fail") return check;
  throw new Fault("check-failed", `${unstored}: ${reason}`, {
    why: [...(fix ? [fix] : []), "--no-test stores it without a test"],
    next: sh`clm ${session.argv} --no-test`,
    data: { reason },
  });
}

export function printCheck(ui: Ui, check: Check | undefined): void {
  if (check?.result === "warn") ui.warn(check.fix ? `${check.reason}; ${check.fix}` : check.reason);
  else if (check) ui.note(check.result === "skipped" ? `not tested: ${check.reason}` : `tested: ${check.reason}`);
}
