import { expect, it } from "vitest";
import { fitted, openCanvas } from "../../../src/ui/screen.js";
import { memory } from "./streams.js";

const enter = "\u001b[?1049h";
const leave = "\u001b[?1049l";

function canvasOn(rows: number) {
  const stdout = memory({ columns: 20, rows });
  let [resized, closed] = [0, 0];
  const canvas = openCanvas({
    stdout,
    clean: (text) => text.replace("hunter2", "[secret]"),
    onResize: () => resized++,
    onClose: () => closed++,
  });
  return { stdout, canvas, resized: () => resized, closed: () => closed };
}

it("takes the terminal, draws in place, and gives it back once", () => {
  const { stdout, canvas, resized, closed } = canvasOn(3);
  canvas.draw(["a", "hunter2"]);
  stdout.emit("resize");
  canvas.close();
  canvas.close();
  stdout.emit("resize");
  canvas.draw(["late"]);
  const text = stdout.text();
  expect([text.startsWith(enter), text.endsWith(leave), text.split(leave).length]).toEqual([true, true, 2]);
  expect(text).toContain("\u001b[H\u001b[Ka\r\n\u001b[K[secret]\r\n\u001b[J");
  expect([resized(), closed()]).toEqual([1, 1]);
});

it("never writes more lines than there are: the terminal would scroll", () => {
  const { stdout, canvas } = canvasOn(2);
  canvas.draw(["a", "b", "c"]);
  canvas.close();
  expect(stdout.text()).toContain("\u001b[H\u001b[Ka\r\n\u001b[Kb\u001b[?7h");
});

it("gives it back when clm ends where it stands", () => {
  const { stdout, closed } = canvasOn(2);
  const listeners = process.listeners("exit");
  (listeners.at(-1) as () => void)();
  expect([stdout.text().endsWith(leave), closed()]).toEqual([true, 1]);
  expect(process.listenerCount("exit")).toBe(listeners.length - 1);
});

it.each([
  [["a", "b"], 2, ["a", "b"]],
  [["a", "b", "c"], 2, ["a", "… 2 more"]],
  [["a", "b", "c"], 1, ["… 3 more"]],
])("%j in %i rows", (lines, rows, shown) => expect(fitted(lines, rows, 20)).toEqual(shown));
