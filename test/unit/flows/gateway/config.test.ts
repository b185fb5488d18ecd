import { describe, expect, it } from "vitest";
import { settingsFor } from "../../../../src/flows/gateway/config.js";
import { settingsFrom } from "../../../../src/flows/gateway/config-file.js";

describe("settings from a file", () => {
  it("are all there is", () => {
    const text = `port: 0
listen: 10.0.0.1
tls: {cert: c.pem, key: k.pem}
expose_to_network: true
log_bodies: true
drain: 0
silence: 60
first_byte: 50
total: 600
max_answer_bytes: 8192
max_stream_bytes: 16384
audit: {max_bytes: 8192, keep: 3}
`;
    expect(settingsFrom(text, "f")).toEqual({
      port: 0,
      address: "10.0.0.1",
      tls: { cert: "c.pem", key: "k.pem" },
      exposed: true,
      logBodies: true,
      drain: 0,
      silence: 60,
      firstByte: 50,
      total: 600,
      audit: { maxBytes: 8192, keep: 3 },
      answerBytes: 8192,
      streamBytes: 16_384,
    });
    expect(settingsFrom("", "f")).toEqual({});
  });

  const wrong: [text: string, member: string][] = [
    ["prot: 1", "prot"],
    ["tls: {cert: a, crt: b}", "tls.crt"],
    ["tls: {cert: a}", "tls.key"],
    ["audit: {keep: 0}", "audit.keep"],
    ["port: 70000", "port"],
    ["port: '1'", "port"],
    ["drain: -1", "drain"],
    ["total: 0", "total"],
    ["max_answer_bytes: 1", "max_answer_bytes"],
    ["log_bodies: maybe", "log_bodies"],
    ["listen: 5", "listen"],
    ["- a", "the top level"],
  ];
  it.each(wrong)("%s is not right", (text, member) => {
    expect(() => settingsFrom(text, "f.yaml")).toThrow(`${member} in f.yaml is invalid`);
  });

  it("that is not YAML", () => {
    expect(() => settingsFrom("a: [", "f.yaml")).toThrow("f.yaml is not YAML");
  });
});

describe("where it listens", () => {
  it("is the loopback by default", async () => {
    expect(await settingsFor({})).toMatchObject({
      port: 4141,
      address: "127.0.0.1",
      drain: 10,
      silence: 900,
      total: 3600,
    });
    expect(await settingsFor({ listen: "::1", port: 0 })).toMatchObject({ port: 0, address: "::1" });
  });

  const tls = { tlsCert: "c", tlsKey: "k" };
  it("is the network only with TLS and an explicit option", async () => {
    for (const flags of [{}, tls, { exposeToNetwork: true }]) {
      await expect(settingsFor({ listen: "0.0.0.0", ...flags })).rejects.toMatchObject({ fault: "bad-input" });
    }
    expect(await settingsFor({ listen: "0.0.0.0", ...tls, exposeToNetwork: true })).toMatchObject({ exposed: true });
    await expect(settingsFor({ listen: "example.com" })).rejects.toMatchObject({ fault: "bad-input" });
    await expect(settingsFor({ tlsCert: "c" })).rejects.toMatchObject({ why: ["--tls-key is missing"] });
  });
});
