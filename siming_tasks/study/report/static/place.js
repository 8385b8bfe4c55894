// Where a reply gives a step's answer: the place that names the step and holds the value that was read.
"use strict";

{
  const WRONG = /^(?:in-?correct|wrong|false|fail(?:ed|s)?|error|no|not correct|错误|不正确|错)$/i;
  const RIGHT = /^(?:correct|right|true|pass(?:ed)?|ok|yes|正确|对)$/i;
  const VALUE = String.raw`["'“”*_\x60]*(-?\d+(?:\.\d+)?|in-?correct|not correct|correct|wrong|right|true|false|pass(?:ed)?|fail(?:ed)?|错误|不正确|正确|not visible|null)(?![A-Za-z0-9.]*[A-Za-z0-9])`;
  const KEY = String.raw`["'“”]?(?:scores?|points?|verdicts?|judge?ments?|answers?|results?|labels?|ratings?|得分|分数|判断|结论)["'“”]?\s*[:：=]\s*`;
  const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

  // Does a value as written say what was read? `answer`: points, or for verdicts 1 (wrong) and 0.
  const says = (written, answer, verdicts) => {
    if (!verdicts) return /^-?\d/.test(written) && Number(written) === Number(answer);
    return (answer ? WRONG : RIGHT).test(written);
  };

  // [start, end] of the last place that names the step and gives this answer; null if there is none that is plain to see.
  SIMING.place = (text, { step, name, answer, verdicts, alone }) => {
    const id = escape(step).replace(/_|\\-| /g, "[-_ ]?");
    const named = String.raw`["'“”]?(?<![A-Za-z0-9_])(?:${id}(?![A-Za-z0-9])${name ? `|${escape(name)}` : ""})`;
    const forms = [
      String.raw`${named}["'“”\])*_\x60]*\s*[:：=]\s*${VALUE}`,
      String.raw`${named}["'“”\])*_\x60]*\s*[:：=]\s*\{[^{}]*?${KEY}${VALUE}`,
      String.raw`["'“”]?(?:step|step_id|id|name)["'“”]?\s*[:：=]\s*${named}["'“”]?[^{}]*?${KEY}${VALUE}`,
      String.raw`${named}[^\n:：=]{0,80}[:：=]\s*${VALUE}`,
    ];
    if (alone) forms.push(KEY + VALUE);
    for (const form of forms) {
      const found = [...text.matchAll(new RegExp(form, "gi"))].filter((match) => says(match[1], answer, verdicts));
      if (found.length) {
        const last = found[found.length - 1];
        return [last.index, last.index + last[0].length];
      }
    }
    return null;
  };

  // [start, end] of the last place that names a step without an answer.
  SIMING.mention = (text, step) => {
    const found = [...text.matchAll(new RegExp(String.raw`(?<![A-Za-z0-9_])${escape(step)}(?![A-Za-z0-9])[^\n,}]{0,40}`, "gi"))];
    const last = found[found.length - 1];
    return last ? [last.index, last.index + last[0].length] : null;
  };
}
