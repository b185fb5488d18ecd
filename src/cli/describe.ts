/** `Name:      ada`, one line for each property; `-` for an empty one. */
export const describe = (width: number, properties: [title: string, value: string | number | undefined][]): string =>
  properties.map(([title, value]) => `${`${title}:`.padEnd(width)} ${value || "-"}`).join("\n");
