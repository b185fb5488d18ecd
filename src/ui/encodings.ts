/**
 * Every way a secret's text may be written somewhere: as it is, in JSON, in a URL, between shell quotes, in base64, in hex.
 * Not known: base64 broken into lines, and what a host does to it before we see it (compression, a hash).
 */
export function encodings(value: string): string[] {
  const found = new Set<string>();
  for (const text of [value, value.trim(), ...longLines(value)]) {
    for (const form of [text, ...json(text), ...url(text), ...shell(text), ...base64(text), ...hex(text)])
      found.add(form);
  }
  found.delete("");
  return [...found];
}

/** A multi-line key is hidden line by line too: something may print it with a prefix before each line. */
function longLines(value: string): string[] {
  const lines = value.split(/\r?\n/).map((line) => line.trim());
  return lines.length > 1 ? lines.filter((line) => line.length >= 8) : [];
}

function json(text: string): string[] {
  const usual = JSON.stringify(text).slice(1, -1);
  const ascii = usual.replace(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return [usual, ascii, usual.replaceAll("/", "\\/")];
}

function url(text: string): string[] {
  const bytes = [...Buffer.from(text)].map((byte) => String.fromCharCode(byte));
  // The unescaped characters differ: JavaScript's encodeURIComponent, RFC 3986, and Python's quote, which keeps slashes.
  return [/[\w.~!*'()-]/, /[\w.~-]/, /[\w.~/-]/].flatMap((kept) => {
    const upper = bytes.map((char) => (kept.test(char) ? char : percent(char))).join("");
    const lower = upper.replace(/%../g, (hex) => hex.toLowerCase());
    return [upper, lower, upper.replaceAll("%20", "+"), lower.replaceAll("%20", "+")];
  });
}

const percent = (char: string): string => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;

function shell(text: string): string[] {
  return [
    text.replaceAll("'", "'\\''"),
    text.replaceAll("'", `'"'"'`),
    text.replace(/["$`\\]/g, "\\$&"),
    text.replace(/[^\w@%+=:,./-]/g, "\\$&"),
  ];
}

/**
 * Inside longer base64 a byte has one of three offsets, and the characters at both ends also contain bits of its
 * neighbours. The part between them is the same whatever surrounds the secret.
 */
function base64(text: string): string[] {
  const bytes = Buffer.from(text);
  const inside = [0, 1, 2].map((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    return whole.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });
  const whole = bytes.toString("base64");
  const forms = [...inside, whole, whole.replace(/=+$/, "")].filter((form) => form.length >= 4);
  return [...forms, ...forms.map((form) => form.replaceAll("+", "-").replaceAll("/", "_"))];
}

/** The hex form of a short secret would match by chance: many ids are hex. */
function hex(text: string): string[] {
  const lower = Buffer.from(text).toString("hex");
  return lower.length >= 8 ? [lower, lower.toUpperCase()] : [];
}
