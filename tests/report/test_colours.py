"""Colours of labels, as colour-blind readers see them, and their contrast with what is written on them."""

from __future__ import annotations

import re
from importlib import resources
from itertools import combinations

import numpy as np
import pytest

MACHADO = {
    "none": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
"""Matrices for linear RGB of Machado, Oliveira and Fernandes (2009), severity 1."""
XYZ = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
SHEET = (resources.files("siming_tasks.report") / "static" / "report.css").read_text()
SCHEMES = dict(zip(("light", "dark"), re.findall(r":root \{(.*?)\}", SHEET, re.DOTALL)[:2], strict=True))


def linear(colour: str) -> np.ndarray:
    """Linear RGB of #rrggbb (IEC 61966-2-1)."""
    value = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of linear RGB, D65."""
    x = XYZ @ np.clip(rgb, 0, 1) / [0.95047, 1, 1.08883]
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def colours(scheme: str, names: tuple[str, ...]) -> list[str]:
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", SCHEMES[scheme]))
    return [found[name] for name in names]


def contrast(a: str, b: str) -> float:
    """The ratio of WCAG 2."""
    low, high = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (a, b))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("eyes", MACHADO)
@pytest.mark.parametrize(
    ("names", "least"), [(("s3", "s2", "s1", "s0"), 20), (("paper", "k2", "k1", "k0"), 10)], ids=["spans", "cells"]
)
def test_labels_are_told_apart_by_everybody(scheme: str, eyes: str, names: tuple[str, ...], least: float) -> None:
    """Distances in CIE 1976; some 2.3 is what one just sees. It was 2.1 between two labels in the dark."""
    seen = [lab(np.asarray(MACHADO[eyes]) @ linear(colour)) for colour in colours(scheme, names)]
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > least


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_is_written_on_a_label_can_be_read(scheme: str) -> None:
    ink, *grounds = colours(scheme, ("c-ink", "paper", "k2", "k1", "k0"))
    assert min(contrast(ink, ground) for ground in grounds) > 4.5
    assert contrast("#000000", "#ffffff") == pytest.approx(21) and contrast(ink, ink) == 1
