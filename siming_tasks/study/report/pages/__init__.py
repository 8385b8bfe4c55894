"""The pages of a report: each module here that has a ``PAGE`` is one, with a template of its own."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from siming_tasks.study.report.pages.site import Page

_MODULES = (import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
PAGES: tuple[Page, ...] = tuple(
    sorted((page for module in _MODULES if (page := getattr(module, "PAGE", None))), key=lambda page: page.place)
)
"""All kinds of pages, in the order of the navigation."""
