"""Markup of texts without JSON as plain lines: HTML, XML, LaTeX, and comma-separated values as tables with bars."""

from __future__ import annotations

import csv
import re

from siming_tasks.parsing.grammar import key_of

_PRIVATE = re.compile("[\ue000-\uf8ff]")
_BOX = re.compile(r"<\|(?:begin|end)_of_box\|>")
_BREAK = re.compile(r"<(?:br|/?p|/?div|/?ul|/?ol|hr)\s*/?>", re.IGNORECASE)
_ITEM = re.compile(r"<li>", re.IGNORECASE)
_HEADING = re.compile(r"<h[1-6]>", re.IGNORECASE)
_CELL = re.compile(r"</t[dh]>\s*<t[dh][^<>\n]{0,80}>", re.IGNORECASE)
_ROW = re.compile(
    r"<tr[^<>\n]{0,80}>\s*<t(?P<kind>[dh])[^<>\n]{0,80}>(?P<cells>[^\0]{0,2000}?)</t[dh]>\s*</tr>", re.IGNORECASE
)
_STYLE = re.compile(
    r"</?(?:b|strong|i|em|u|span|li|table|thead|tbody|h[1-6]|code|pre|html|body|center|font|sub|sup|summary|details)"
    r"(?:\s[^<>\n]{0,80})?>",
    re.IGNORECASE,
)
_ELEMENT = re.compile(r"<(?P<tag>[a-z][\w-]{1,40})>\s*(?P<value>[^<>{}]{1,200}?)\s*</(?P=tag)>", re.IGNORECASE)
_ATTRIBUTES = re.compile(
    r"<[a-z][\w-]{1,40}(?P<attributes>(?:\s+[\w-]{1,20}\s*=\s*[\"'][^\"'<>]{0,80}[\"']){1,9})\s*/?>", re.IGNORECASE
)
_ATTRIBUTE = re.compile(r"([\w-]{1,20})\s*=\s*[\"']([^\"'<>]{0,80})[\"']")
_TAG = re.compile(r"</[a-z][\w-]{1,40}\s*>|<(?P<tag>[a-z][\w-]{1,40})\s*/?>", re.IGNORECASE)
_LATEX = re.compile(r"\\(?:text|mathrm|mathbf|textbf)\{([^{}]{0,200})\}")
_BOXED = re.compile(r"\$*\\boxed\{+([^{}]{1,80})\}+\$*")
_FRACTION = re.compile(r"\\d?frac\{([0-9]{1,3})\}\{([0-9]{1,3})\}")
_MATHS = re.compile(r"\\[\[\]()]|\$|\\(?=[_*#])")
_STRUCK = re.compile(r"~~[^~\n]{0,80}~~")
_PLAIN = str.maketrans({"‐": "-", "‑": "-", "⁄": "/", "∕": "/", "、": ",", "。": "."})
_STOP = re.compile(r"。(?=\S)")


def without_markup(text: str) -> str:
    """A text whose markup is lines; tables keep their bars."""
    text = _STRUCK.sub("", _PRIVATE.sub("", text))
    if "<" in text:
        text = _ROW.sub(_row, _BOX.sub("\n", text))
        text = _STYLE.sub("", _HEADING.sub("\n# ", _ITEM.sub("\n- ", _BREAK.sub("\n", text))))
        text = _ATTRIBUTES.sub(_attributes, text)
        text = _TAG.sub(_title, _ELEMENT.sub(_element, text))
    if "\\" in text or "$" in text:
        text = _LATEX.sub(r"\1", text)
        text = _MATHS.sub("", _BOXED.sub(r" \1 ", _FRACTION.sub(r"\1/\2", text)))
    return _separated(_STOP.sub(". ", text).translate(_PLAIN))


def _row(row: re.Match[str]) -> str:
    cells = _CELL.sub(" | ", row["cells"].replace("\n", " "))
    rule = "\n" + "|---" * (cells.count(" | ") + 1) + "|" if row["kind"].lower() == "h" else ""
    return f"\n| {cells} |{rule}\n"


def _element(element: re.Match[str]) -> str:
    """``<score>2</score>`` as a titled line; a step's id in an element of its own as the beginning of a block."""
    value = element["value"].replace("\n", " ")
    is_step = key_of(element["tag"].replace("_", " ")).family.name == "step"
    return f"\n{value}\n" if is_step else f"\n{element['tag']}: {value}\n"


def _title(tag: re.Match[str]) -> str:
    """``<weights>`` around other elements as their title."""
    title = (tag["tag"] or "").replace("_", " ")
    return f"\n{title}:\n" if title and key_of(title).family.name not in ("step", "holder", "skill") else "\n"


def _attributes(element: re.Match[str]) -> str:
    """``<step id="cpr_01" score="2">`` as the lines of a block, ``<score id="cpr_01">`` as the beginning of a line."""
    pairs = _ATTRIBUTE.findall(element["attributes"])
    own = [f"{value}: " for name, value in pairs if key_of(name).family.name == "step"]
    return "\n" + "\n".join(
        [*own, *(f"{name}: {value}" for name, value in pairs if key_of(name).family.name != "step")]
    )


def _separated(text: str) -> str:
    """Comma-, tab- or semicolon-separated lines under a header that names steps, as a table with bars."""
    lines = [line for line in text.split("\n") if line.strip()]
    for place, line in enumerate(lines[:10]):
        for mark in ",\t;":
            cells = [cell.strip().strip("\"'") for cell in line.split(mark)]
            if len(cells) < 2 or not any(key_of(cell).family.name == "step" for cell in cells):
                continue
            rows = list(csv.reader(lines[place:], delimiter=mark))
            if len(rows) > 1 and sum(len(row) >= len(cells) for row in rows) > len(rows) / 2:
                bars = [f"| {' | '.join(row)} |" for row in rows]
                return "\n".join([*lines[:place], bars[0], "|---" * len(cells) + "|", *bars[1:]])
    return text
