// The keyboard: one table, from which the handler and the help are made. Keys go by the letter they write, so that
// they are where the user's keyboard has them.

export const KEYS = [
  [[" "], "play", "Space", "play, pause"],
  [["ArrowLeft"], "previousFrame", "←", "one frame back"],
  [["ArrowRight"], "nextFrame", "→", "one frame forward"],
  [["Shift+ArrowLeft"], "back", "Shift ←", "5 seconds back"],
  [["Shift+ArrowRight"], "forward", "Shift →", "5 seconds forward"],
  [["-"], "slower", "−", "slower"],
  [["+", "="], "faster", "+", "faster"],
  [["g"], "jump", "G", "go to a time"],
  [["ArrowUp"], "previousStep", "↑", "previous step"],
  [["ArrowDown"], "nextStep", "↓", "next step"],
  [["s"], "start", "S", "the step starts with this frame", "start"],
  [["e"], "end", "E", "the step ends with this frame", "end"],
  [["v"], "moment", "V", "play the marked moment"],
  [["x"], "clearSpan", "X", "clear the marks", "start"],
  [["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"], "digit", "0–9", "points of the step", "points"],
  [["."], "half", ".", "half a point more", "half"],
  [["1"], "correct", "1", "correct", "verdict"],
  [["0"], "incorrect", "0", "incorrect", "verdict"],
  [["n"], "notApplicable", "N", "not applicable", "applicable"],
  [["Backspace", "Delete"], "clear", "⌫", "clear the step's points"],
  [["c"], "comment", "C", "comment (Esc goes back)", "comment"],
  [["u", "Ctrl+z", "Meta+z"], "undo", "U", "undo"],
  [["r", "Ctrl+y", "Ctrl+Shift+z", "Meta+Shift+z"], "redo", "R", "redo"],
  [["Shift+n", "PageDown"], "nextExam", "Shift N", "next exam"],
  [["Shift+p", "PageUp"], "previousExam", "Shift P", "previous exam"],
  [["?", "Shift+?"], "help", "?", "this table"],
];

function named(event) {
  const letter = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const shift = event.shiftKey && (letter.length > 1 || letter !== letter.toUpperCase());
  return `${event.ctrlKey ? "Ctrl+" : ""}${event.metaKey ? "Meta+" : ""}${shift ? "Shift+" : ""}${letter}`;
}

// Which action a key means, among those that the page has (can: what it takes).
export function actionOf(event, can) {
  if (event.altKey || event.isComposing) return null;
  const name = named(event);
  const row = KEYS.find(([keys, , , , needs]) => keys.includes(name) && (!needs || can(needs)));
  return row ? row[1] : null;
}

export function describe(body, can) {
  const rows = KEYS.filter(([, , , , needs]) => !needs || can(needs));
  body.replaceChildren(...rows.map(([, , shown, what]) => {
    const row = document.createElement("tr");
    const key = document.createElement("th");
    key.scope = "row";
    const kbd = document.createElement("kbd");
    kbd.textContent = shown;
    key.append(kbd);
    const cell = document.createElement("td");
    cell.textContent = what;
    row.append(key, cell);
    return row;
  }));
}
