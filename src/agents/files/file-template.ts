import Handlebars from "handlebars";

type Helpers = Record<string, (...values: string[]) => string>;

/** A Handlebars template. A missing value is an error; only the given helpers escape anything. */
export function fileTemplate<Values>(text: string, helpers: Helpers = {}): (values: Values) => string {
  const handlebars = Handlebars.create();
  for (const [name, help] of Object.entries(helpers)) {
    // Handlebars appends an options object to the arguments.
    handlebars.registerHelper(name, (...values: unknown[]) => help(...values.slice(0, -1).map(String)));
  }
  const knownHelpers = Object.fromEntries(Object.keys(helpers).map((name) => [name, true]));
  return handlebars.compile<Values>(text, { strict: true, noEscape: true, knownHelpersOnly: true, knownHelpers });
}
