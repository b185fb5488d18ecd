import { describe, expect, it } from "vitest";
import { Fault } from "../../../../src/errors.js";
import { type HostResult, worst } from "../../../../src/flows/host/exec.js";

const said = (code: number | null): HostResult => ({ host: "wolf-i", code, stdout: "", stderr: "" });
const silent = (fault: Fault): HostResult => ({ ...said(null), fault });
const unreachable = new Fault("unreachable", "nobody there");
const late = new Fault("remote-timeout", "too long");
const bug = new Fault("bug", "ours");

describe("the worst exit code", () => {
  it.each<[string, HostResult[], number]>([
    ["nobody was asked", [], 0],
    ["all went well", [said(0), said(0)], 0],
    ["one failed", [said(0), said(7), said(0)], 7],
    ["the first is the worst", [said(9), said(2)], 9],
    ["the last is the worst", [said(2), said(9)], 9],
    ["the highest a command can say", [said(255), said(1)], 255],
    ["ended by a signal", [said(0), said(null)], 128],
    ["a host was not reached", [said(0), silent(unreachable)], 10],
    ["a host was not reached and another said less", [said(1), silent(unreachable)], 10],
    ["a host was not reached and another said more", [said(77), silent(unreachable)], 77],
    ["two faults", [silent(unreachable), silent(late)], 18],
    ["a bug of ours", [silent(bug), said(1)], 70],
    ["a fault counts, not that there is no code", [silent(late)], 18],
  ])("%s", (_, answers, code) => expect(worst(answers)).toBe(code));
});
