"""Numbers as text, names in narrow heads, colours of labels: what a reader tells apart."""

import re
from importlib import resources
from itertools import combinations

import numpy as np
import pytest

from siming_tasks.benchmark.types import Answer
from siming_tasks.study.report.formatting import (
    HEAD_COLUMNS,
    columns,
    page_number,
    page_points,
    plain_number,
    short_names,
)
from siming_tasks.study.report.pages.exams import difference_kind


def test_plain_text_has_no_negative_zero_and_a_dash_for_no_value() -> None:
    assert [plain_number(x) for x in (None, -0.0004, 0.0, -0.25)] == ["-", "0.000", "0.000", "-0.250"]
    assert [page_number(x) for x in (None, -0.0004, -0.25)] == ["–", "0.000", "−0.250"]
    points = (None, float("nan"), 2.0, 2.5, 77.55, 0.1 + 0.2)
    assert [page_points(x) for x in points] == ["–", "–", "2", "2.5", "77.55", "0.3"]


@pytest.mark.parametrize(
    ("value", "reference", "answer", "kind"),
    [
        *((3, 3, "score", None), (3, 2, "score", "miss"), (2, 3, "score", "alarm"), (1, 2, "score", "strict")),
        *((2, 0, "score", "lenient"), (1, 2, "error", None), (0, 2, "error", "miss"), (1, 3, "error", "alarm")),
        *((0, 3, "error", None), (1, None, "error", None)),
    ],
)
def test_the_kind_of_a_difference(value: float, reference: float | None, answer: Answer, kind: str | None) -> None:
    assert difference_kind(value, reference, 3, answer) == kind


def test_names_of_narrow_heads_fit_and_differ_whatever_they_hold() -> None:
    """Chinese signs take two columns, a slash in hostile text divides nothing, two of one family stay two."""
    twins = ["Qwen/Qwen3-VL-8B-Instruct", "Qwen/Qwen3-VL-32B-Instruct"]
    found = short_names(["示例机构/书生-万象三点五-视觉模型", "org/<b>x</b> & y", *twins, "/models/a/"])
    assert found == ["书生-…三点五", "org/<b>x</b> &", "Qwen3-VL-8B", "Qwen3-VL-32B", "a"]
    assert all(columns(name) <= HEAD_COLUMNS for name in found)
    alike = ["a/Internvl-one-very-long-ending", "b/Internvl-one-very-long-ending", "c/Internvl-two"]
    assert len(set(short_names(alike))) == 3


MACHADO = {
    "none": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
"""Matrices for linear RGB of Machado, Oliveira and Fernandes (2009), severity 1."""
XYZ = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]


def seen(colour: str, eyes: str) -> np.ndarray:
    """CIE L*a*b* (D65) of #rrggbb (IEC 61966-2-1), as these eyes see it."""
    value = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    x = XYZ @ np.clip(np.asarray(MACHADO[eyes]) @ linear, 0, 1) / [0.95047, 1, 1.08883]
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eyes", MACHADO)
def test_labels_and_kinds_of_disagreement_are_told_apart_by_everybody(eyes: str) -> None:
    """Distances in CIE 1976, of spans and of cells, in light and dark; some 2.3 is what one just sees."""
    sheet = (resources.files("siming_tasks.study.report") / "static" / "report.css").read_text()
    for scheme in re.findall(r":root \{(.*?)\}", sheet, re.DOTALL)[:2]:
        colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", scheme))
        for names, least in ((("s3", "s2", "s1", "s0"), 20), (("paper", "other", "alarm", "miss"), 10)):
            pairs = combinations([seen(colours[name], eyes) for name in names], 2)
            assert min(float(np.linalg.norm(a - b)) for a, b in pairs) > least, names
