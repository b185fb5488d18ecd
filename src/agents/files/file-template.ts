import Handlebars from "handlebars";

/** What a value of a template may be passed through: `{{word path}}`. */
type Helpers = Record<string, (...values: string[]) => string>;

/** A file as a template. A value nobody gave is an error, and nothing is escaped but by the helpers that are given. */
export function fileTemplate<Values>(text: string, helpers: Helpers = {}): (values: Values) => string {
  const handlebars = Handlebars.create();
  for (const [name, help] of Object.entries(helpers)) {
    // Handlebars hands over more than was asked for, always last.
    handlebars.registerHelper(name, (...values: unknown[]) => help(...values.slice(0, -1).map(String)));
  }
  const knownHelpers = Object.fromEntries(Object.keys(helpers).map((name) => [name, true]));
  return handlebars.compile<Values>(text, { strict: true, noEscape: true, knownHelpersOnly: true, knownHelpers });
}
