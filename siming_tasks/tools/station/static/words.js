// The words of the page, in the language that the physician chose. Cookies remember what was chosen: they are the same
// for every port of this machine, and a station has another port at every start.

let table = {};
let spoken = "en";

export const language = () => spoken;

export async function learnWords() { table = await (await fetch("words.json")).json(); }

export const languages = () => Object.entries(table.language);

export function say(key, values = {}) {
  const words = table[key] || {};
  return (words[spoken] || words.en || "").replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

// The page's own words change at once: data-say is an element's text, data-say-label its name for screen readers.
export function speak(chosen) {
  spoken = chosen in (table.language || {}) ? chosen : "en";
  document.documentElement.lang = spoken === "zh" ? "zh-CN" : spoken;
  for (const node of document.querySelectorAll("[data-say]")) node.textContent = say(node.dataset.say);
  for (const node of document.querySelectorAll("[data-say-label]")) node.ariaLabel = say(node.dataset.sayLabel);
}

export function remember(name, value) {
  document.cookie = `siming_${name}=${value}; path=/; max-age=31536000; samesite=strict`;
}

export function recall(name) {
  const pair = document.cookie.split("; ").find((text) => text.startsWith(`siming_${name}=`));
  return pair ? pair.split("=")[1] : null;
}
