import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { encodings } from "../../src/ui/encodings.js";
import { clm, inHost } from "./clm.js";
import { labFixture } from "./fixture.js";

const key = "sk-planted/0123+456789==";
const echo = "http://127.0.0.1:4180";

const { home } = labFixture();
beforeAll(async () => {
  await mkdir(join(home, "manifests"), { recursive: true, mode: 0o700 });
  // The service answers after three seconds: time enough to inspect the host.
  await writeFile(
    join(home, "manifests", "slow.yaml"),
    `type: hermes
providers:
  slow:
    title: A slow vendor
    fields: [{ name: api_key, ask: API key, secret: API_KEY, required: true }, { name: endpoint, ask: Address }]
    render: [{ config: { model: { provider: custom, default: "{{model}}" } } }]
    test:
      method: POST
      url: "{{endpoint}}/v1/chat/completions"
      headers: { Authorization: "Bearer {{api_key}}" }
      body: { model: slow-one, messages: [{ role: user, content: "{{api_key}}" }] }
`,
    { mode: 0o600 },
  );
});

const provider = (words: string[], input?: string) => clm(["provider", ...words], { home, ...(input && { input }) });

it("a provider on the loopback is tested from the agent's host", async () => {
  const added = await provider(["add", "echo", "--type", "custom", "--endpoint", echo, "--model", "echo"]);
  expect(added).toMatchObject({ code: 0, stderr: "not tested: will be tested from the agent's host at configure\n" });
  expect((await provider(["test", "echo"])).code).toBe(6);

  const tested = await provider(["test", "echo", "--host", "trial-1", "-o", "json"]);
  expect(JSON.parse(tested.stdout)).toEqual([
    { provider: "echo", host: "trial-1", id: "provider.echo", result: "ok", reason: "127.0.0.1:4180 answers (200)" },
  ]);
});

it.each([
  ["http://127.0.0.1:4199", "connection refused at 127.0.0.1:4199"],
  ["https://127.0.0.1:4180", "no secure connection to 127.0.0.1:4180"],
  ["http://127.0.0.1:22", "127.0.0.1:22 does not speak HTTP"],
  ["http://no-such-name.invalid", "the name no-such-name.invalid does not resolve"],
])("%s has its own message", async (endpoint, reason) => {
  await provider(["update", "echo", "--endpoint", endpoint, "--no-test"]);
  const { code, stdout } = await provider(["test", "echo", "--host", "trial13-1"]);
  expect(stdout).toContain(`echo: ${reason}`);
  expect(code).toBe(1);
});

it("only the service sees the key on the host", async () => {
  const added = await provider(["add", "slow", "--type", "slow", "--endpoint", echo, "--key-stdin"], key);
  expect(added.code).toBe(0);

  const curl = "pgrep -f '^[c]url -q' > /dev/null";
  const looking = inHost(
    "trial-1",
    `for n in $(seq 300); do ${curl} && break; sleep 0.1; done
    while ${curl}; do
      cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2> /dev/null | tr '\\0' '\\n'
      sleep 0.1
    done`,
  );
  const tested = await provider(["test", "slow", "--host", "trial-1", "--debug"]);
  const seen = await looking;

  expect(tested.stdout).toMatch(/^slow +trial-1 +ok +127\.0\.0\.1:4180 answers \(200\)$/m);
  expect(seen).toMatch(/^curl\n-q\n--config\n-$/m);
  const digest = createHash("sha256").update(key).digest("hex").slice(0, 12);
  const journal = await inHost("trial-1", "journalctl --no-pager -o cat");
  expect(journal).toContain(`authorization=present:${digest}`);
  for (const form of encodings(key)) {
    for (const text of [seen, journal, tested.stdout, tested.stderr]) expect(text).not.toContain(form);
  }
  const files = await inHost("trial-1", `grep -rlsF '${key}' /etc /home /root /run /tmp /var || true`);
  expect(files).toBe("");
});
