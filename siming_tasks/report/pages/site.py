"""The frame that all pages share: templates, number formats, navigation, content security policy."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from siming_tasks.common.files import atomic_write
from siming_tasks.common.sanitize import visible
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.estimate import FLAGS
from siming_tasks.metrics.thresholds import ALPHA, COMPARABLE, FEWEST, MIN_ANSWERED, THIN, TRUSTED
from siming_tasks.report.formatting import plain_pvalue as pvalue
from siming_tasks.report.pages.links import differences
from siming_tasks.report.roles import ROLES

__all__ = ["POLICY", "Site", "count", "number", "percent", "points", "signed"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
"""No inline script or style, nothing from the network, no forms: model text cannot act even if escaping failed."""


def number(value: float | None, digits: int = 3) -> str:
    """A number with a true minus sign and no negative zero; an en dash for None."""
    if value is None:
        return "–"
    text = f"{value:.{digits}f}"
    return ("" if float(text) == 0 else "−") + text[1:] if text.startswith("-") else text


def signed(value: float | None, digits: int = 3) -> str:
    """A difference: :func:`number` with a plus sign where it is above 0."""
    text = number(value, digits)
    return f"+{text}" if value is not None and round(value, digits) > 0 else text


def percent(value: float | None) -> str:
    """A share as a percentage; never rounded up to 100 %."""
    if value is None:
        return "–"
    return "99.9 %" if 0.9995 > value >= 0.9985 or 0.9995 <= value < 1 else f"{100 * value:.1f} %".replace(".0 %", " %")


def points(value: float | None) -> str:
    """Points without needless decimals; an en dash for None."""
    if value is None or value != value:
        return "–"
    return number(value, next((digits for digits in (0, 1) if round(value, digits) == value), 2))


def count(value: int) -> str:
    """A whole number with thin groups."""
    return f"{value:,}"


def _p(value: float | None) -> str:
    return "–" if value is None else pvalue(value).replace("<", "< ")


def _title(metric: str) -> str:
    return CATALOGUE[metric].title


_LIMITS = {
    "alpha": ALPHA,
    "comparable": COMPARABLE,
    "min_answered": MIN_ANSWERED,
    "thin": THIN,
    "trusted": TRUSTED,
    "fewest": FEWEST,
}


class Site:
    """A folder of pages under construction.

    Args:
        out: the folder.
        site: what every page shows: ``title``, ``pages``, ``synthetic``, ``dataset``, ``options``...
    """

    def __init__(self, out: Path, site: Mapping[str, Any]) -> None:
        self.out = out
        self.environment = Environment(
            loader=PackageLoader("siming_tasks.report"),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=lambda value: visible(value) if type(value) is str else value,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.environment.filters.update(
            num=number, pct=percent, points=points, count=count, p=_p, metric=_title, signed=signed
        )
        self.environment.globals.update(
            site=site, csp=POLICY, flags=FLAGS, limits=_LIMITS, roles=ROLES, differences=differences
        )

    def page(self, path: str, template: str, **values: Any) -> None:
        """Render a template to ``path`` (relative, with slashes)."""
        text = self.environment.get_template(template).render(root="../" * path.count("/"), here=path, **values)
        with atomic_write(self.out / path) as stream:
            stream.write(text)

    def static(self) -> None:
        """Copy the style sheet, scripts and icon."""
        for item in (resources.files("siming_tasks.report") / "static").iterdir():
            with atomic_write(self.out / "static" / item.name, "wb") as stream:
                stream.write(item.read_bytes())
