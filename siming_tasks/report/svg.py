"""A Matplotlib figure as SVG that can be part of a page under a strict policy.

Every colour becomes a CSS variable (light, dark and print from one file), every inline style an attribute (the pages
forbid inline styles), text stays text, and marks say their value on hover.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

import matplotlib
from markupsafe import Markup
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from siming_tasks.report.text import visible

__all__ = ["COLOURS", "RC", "to_svg"]

# Placeholder colours that become variables of the style sheet.
COLOURS = {
    "model": "#0072b2",
    "human": "#009e73",
    "blind": "#8a8a8a",
    "reference": "#cc79a7",
    "clip": "#e69f00",
    "warn": "#d55e00",
    "ink": "#101010",
    "muted": "#606060",
    "rule": "#dcdcdc",
}
RC: Any = {"svg.fonttype": "none", "font.size": 9, "axes.linewidth": 0.8, "path.simplify": False}
_SVG, _LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"


def to_svg(figure: Figure, name: str, alt: str, tips: Mapping[str, Sequence[str]]) -> Markup:
    """The figure as markup.

    Args:
        figure: what to draw; colours of :data:`COLOURS` become variables.
        name: unique on the page; goes before every id.
        alt: the chart in a sentence.
        tips: what the marks of a group (by its gid) say on hover, in drawing order.
    """
    stream = io.StringIO()
    with matplotlib.rc_context({**RC, "svg.hashsalt": name}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # glyphs that the measuring font lacks; the browser has its own fonts
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(stream, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    tree = ElementTree.fromstring(stream.getvalue())
    for element in tree.iter():
        _themed(element)
    for key, said in tips.items():
        group = next((item for item in tree.iter() if item.get("id") == key), None)
        if group is not None:
            targets = list(group.iter(f"{{{_SVG}}}use")) or list(group.iter(f"{{{_SVG}}}path"))
            for target, text in zip(targets, said, strict=False):
                ElementTree.SubElement(target, f"{{{_SVG}}}title").text = visible(text)
    _unique_ids(tree, name)
    for parent in list(tree.iter()):
        for child in [item for item in parent if item.tag.endswith(("}metadata", "}style"))]:
            parent.remove(child)
    tree.attrib |= {"role": "img", "aria-label": visible(alt), "class": "chart"}
    tree.attrib.pop("width", None)
    tree.attrib.pop("height", None)
    ElementTree.register_namespace("", _SVG)
    return Markup(re.sub(r"\s*\n\s*", "", ElementTree.tostring(tree, encoding="unicode")))


_VARIABLES: dict[str, str] = {value: f"var(--c-{key})" for key, value in COLOURS.items()}


def _themed(element: Any) -> None:
    """Style declarations become attributes; our placeholder colours become variables; the page's fonts are used."""
    style = element.attrib.pop("style", "")
    for declaration in filter(None, (part.strip() for part in style.split(";"))):
        key, _, value = declaration.partition(":")
        if key == "font":
            size = re.search(r"([\d.]+)px", value)
            element.set("font-size", size.group(1) if size else "9")
        elif not key.startswith("font-f") and key != "stroke-miterlimit":
            element.set(key.strip(), value.strip().removesuffix("px"))
    for key in ("fill", "stroke"):
        if element.get(key) in _VARIABLES:
            element.set(key, _VARIABLES[element.get(key)])
        elif element.get(key) == "#ffffff":
            element.set(key, "none")
    if f"{{{_LINK}}}href" in element.attrib:
        element.set("href", element.attrib.pop(f"{{{_LINK}}}href"))


def _unique_ids(tree: Any, name: str) -> None:
    """Several charts share a page: ids get the chart's name in front, unused ones go."""
    used = {value for element in tree.iter() for value in _references(element)}
    for element in tree.iter():
        known = element.get("id")
        if known and known in used:
            element.set("id", f"{name}-{known}")
        elif known:
            del element.attrib["id"]
        for key, value in list(element.attrib.items()):
            if key == "href" and value.startswith("#"):
                element.set(key, f"#{name}-{value[1:]}")
            elif value.startswith("url(#"):
                element.set(key, f"url(#{name}-{value[5:]}")


def _references(element: Any) -> list[str]:
    return [
        value[1:] if key == "href" else value[5:-1]
        for key, value in element.attrib.items()
        if (key == "href" and value.startswith("#")) or value.startswith("url(#")
    ]
