import { expect, it } from "vitest";
import { clm, inHost } from "./clm.js";
import { labFixture, withEcho } from "./fixture.js";

const hosts = ["trial-1", "trial13-1"];
const { home } = labFixture({ agents: hosts.map((host) => ({ host, name: `n-${host}`, configure: withEcho })) });

/** A host numbers its processes and threads one after the other, whatever else runs on this machine. */
const lastNumber = async (host: string) => Number((await inHost(host, "cat /proc/loadavg")).trim().split(" ").at(-1));

/** The smallest count of several: the host's own services start processes now and then. */
async function startedBy(host: string, words: string[]): Promise<number> {
  const counts: number[] = [];
  while (counts.length < 3) {
    const before = await lastNumber(host);
    const { code, stderr } = await clm(words, { home });
    expect(code, stderr).toBe(0);
    // The look itself is one.
    counts.push((await lastNumber(host)) - before - 1);
  }
  return Math.min(...counts);
}

// Beside what a connection starts: three more than when this was written, as some depend on the release.
it.each(hosts)("the processes that a command starts on %s do not grow", async (host) => {
  const agent = `n-${host}`;
  const connection = await startedBy(host, ["host", "exec", host, "--", "true"]);
  const most: [words: string, count: number][] = [
    [`ps ${agent}`, 32],
    [`ps ${agent} --no-drift`, 25],
    [`agent diff ${agent}`, 19],
    [`agent configure ${agent} --provider echo`, 27],
  ];
  for (const [words, count] of most)
    expect((await startedBy(host, words.split(" "))) - connection, words).toBeLessThanOrEqual(count);
});
