// The keyboard: one table, from which the handler and the help are made. Keys go by the letter they write, so that
// they are where the user's keyboard has them. What each does is said by the words key_ACTION.

import { say } from "./words.js";

export const KEYS = [
  [[" "], "play", "Space"],
  [["ArrowLeft"], "previousFrame", "←"],
  [["ArrowRight"], "nextFrame", "→"],
  [["Shift+ArrowLeft"], "back", "Shift ←"],
  [["Shift+ArrowRight"], "forward", "Shift →"],
  [["-"], "slower", "−"],
  [["+", "="], "faster", "+"],
  [["g"], "jump", "G"],
  [["m"], "mute", "M"],
  [["ArrowUp"], "previousStep", "↑"],
  [["ArrowDown"], "nextStep", "↓"],
  [["s"], "start", "S"],
  [["e"], "end", "E"],
  [["v"], "moment", "V"],
  [["x"], "clearSpan", "X"],
  [["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"], "digit", "0–9"],
  [["."], "half", ".", "half"],
  [["n"], "notApplicable", "N"],
  [["Backspace", "Delete"], "clear", "⌫"],
  [["c"], "comment", "C"],
  [["u", "Ctrl+z", "Meta+z"], "undo", "U"],
  [["r", "Ctrl+y", "Ctrl+Shift+z", "Meta+Shift+z"], "redo", "R"],
  [["Shift+n", "PageDown"], "nextExam", "Shift N"],
  [["Shift+p", "PageUp"], "previousExam", "Shift P"],
  [["?", "Shift+?"], "help", "?"],
];

// Actions that a key does again while it is held down; a held digit must not score one step after the other.
export const REPEATED = ["previousFrame", "nextFrame", "back", "forward", "previousStep", "nextStep"];

function named(event) {
  const letter = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const shift = event.shiftKey && (letter.length > 1 || letter !== letter.toUpperCase());
  return `${event.ctrlKey ? "Ctrl+" : ""}${event.metaKey ? "Meta+" : ""}${shift ? "Shift+" : ""}${letter}`;
}

// Which action a key means, among those that the page has (can: half points are not in every rubric).
export function actionOf(event, can) {
  if (event.altKey || event.isComposing) return null;
  const name = named(event);
  const row = KEYS.find(([keys, , , needs]) => keys.includes(name) && (!needs || can(needs)));
  return row && (!event.repeat || REPEATED.includes(row[1])) ? row[1] : null;
}

export function describe(body, can) {
  const rows = KEYS.filter(([, , , needs]) => !needs || can(needs));
  body.replaceChildren(...rows.map(([, action, shown]) => {
    const row = document.createElement("tr");
    const key = document.createElement("th");
    key.scope = "row";
    const kbd = document.createElement("kbd");
    kbd.textContent = shown;
    key.append(kbd);
    const cell = document.createElement("td");
    cell.textContent = say(`key_${action}`);
    row.append(key, cell);
    return row;
  }));
}
