/** This machine's Debian mirror, from its apt configuration. A lab's base uses the same one: clm names no mirror. */

export interface Source {
  uris: string[];
  suites: string[];
  components: string[];
  /** Trust settings, by their deb822 names. */
  trust: Record<string, string>;
}

const trustFields = [
  "Signed-By",
  "Trusted",
  "Check-Valid-Until",
  "Check-Date",
  "Allow-Insecure",
  "Allow-Weak",
  "Architectures",
];

const words = (text: string | undefined): string[] => (text ?? "").split(/\s+/).filter(Boolean);

/** The `deb` lines of a sources.list. */
export function parseList(text: string): Source[] {
  return text.split("\n").flatMap((line) => {
    const [, options, uri, suite, components] =
      /^\s*deb\s+(?:\[([^\]]*)\]\s+)?([^\s[#]+)\s+(\S+)\s+([^#]*)/.exec(line) ?? [];
    if (uri === undefined || suite === undefined) return [];
    const fields = new Map([
      ["uris", uri],
      ["suites", suite],
      ["components", components ?? ""],
    ]);
    for (const option of words(options)) {
      const [name = "", value] = option.split("=", 2);
      // The one-line form says `arch` where deb822 says `Architectures`.
      if (value !== undefined) fields.set(name === "arch" ? "architectures" : name, value.replaceAll(",", " "));
    }
    return sourceFrom(fields);
  });
}

/** The enabled `deb` stanzas of a deb822 `.sources` file. */
export function parseSources(text: string): Source[] {
  const stanzas = text.replace(/^#.*\n?/gm, "").split(/\n\s*\n/);
  return stanzas.flatMap((stanza) => {
    const fields = new Map<string, string>();
    // A line that begins with a space continues the field above it.
    for (const part of stanza.split(/\n(?![ \t])/)) {
      const [, field, value = ""] = /^([A-Za-z][A-Za-z-]*):[ \t]*(.*)$/s.exec(part) ?? [];
      if (field !== undefined) fields.set(field.toLowerCase(), value);
    }
    if (!words(fields.get("types")).includes("deb")) return [];
    if (/^(no|false|off|0)$/i.test(fields.get("enabled")?.trim() ?? "yes")) return [];
    return sourceFrom(fields);
  });
}

/** `fields` are named as in deb822, in lower case. */
function sourceFrom(fields: Map<string, string>): Source {
  const trust = trustFields.flatMap((field) => {
    const value = fields.get(field.toLowerCase());
    return value === undefined ? [] : [[field, value]];
  });
  return {
    uris: words(fields.get("uris")),
    suites: words(fields.get("suites")),
    components: words(fields.get("components")),
    trust: Object.fromEntries(trust),
  };
}

/**
 * Debian's own entry. Third-party entries use the same suite and component, so it is recognised by what only Debian has: its
 * archive key, or `<codename>-updates` at the same URL. An entry without a key is the last choice.
 */
export function debianAmong(sources: Source[], codename: string): Source | undefined {
  const withUpdates = new Set(
    sources.filter(({ suites }) => suites.includes(`${codename}-updates`)).flatMap(({ uris }) => uris.map(place)),
  );
  const likeliness = (source: Source): number => {
    const key = source.trust["Signed-By"];
    const score =
      (key?.includes("debian-archive") ? 4 : 0) + (source.uris.some((uri) => withUpdates.has(place(uri))) ? 2 : 0);
    return score || (key === undefined ? 1 : 0);
  };
  return sources
    .filter(({ suites, components }) => suites.includes(codename) && components.includes("main"))
    .filter(({ uris }) => uris.some(reachable))
    .map((source) => ({ source, likely: likeliness(source) }))
    .filter(({ likely }) => likely > 0)
    .sort((a, b) => b.likely - a.likely)[0]?.source;
}

const place = (uri: string): string => uri.replace(/\/+$/, "");
const reachable = (uri: string): boolean => !/^(cdrom|file|copy):/.test(uri);

/** The same mirror with another release, as a deb822 stanza. */
export function sourceFor(release: string, source: Source, codename: string): string {
  const trust = Object.entries(source.trust).map(([field, value]) =>
    // Debian has a keyring per release besides the common one.
    field === "Signed-By" ? [field, value.replaceAll(`-${codename}-`, `-${release}-`)] : [field, value],
  );
  return [
    ["Types", "deb"],
    ["URIs", source.uris.filter(reachable).join(" ")],
    ["Suites", release],
    ["Components", "main"],
    ...trust,
  ]
    .map(([field, value]) => `${field}: ${value}\n`)
    .join("");
}

/** Network settings of `apt-config dump`: proxies, certificates, retries, validity. The rest is this machine's. */
export function archiveSettings(dump: string): string {
  const matters =
    /^Acquire::((https?|ftp|tor|socks5h?)::|(Retries|ForceIPv[46]|Check-Valid-Until|Check-Date|M(ax|in)-ValidTime) )/;
  return dump
    .split("\n")
    .filter((line) => matters.test(line))
    .map((line) => `${line}\n`)
    .join("");
}
