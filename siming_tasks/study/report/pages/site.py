"""Frame of all pages: templates, number formats, navigation, content security policy, and addresses that pages keep.

``videos/v001.html#full_score/my-model/cpr_10`` is one judge's answer to one step of an exam, at its second.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from siming_tasks.common.files import atomic_write
from siming_tasks.study.report.figure import ROLES
from siming_tasks.study.report.formatting import templates
from siming_tasks.study.report.row_tables import number
from siming_tasks.study.report.table import Number
from siming_tasks.study.words import WORDS, say

if TYPE_CHECKING:
    from siming_tasks.data import Dataset
    from siming_tasks.study.report.run_analysis import RunAnalysis
    from siming_tasks.study.report.standings import Standing
    from siming_tasks.study.report.viewer_files import VideoLinker

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
"""No inline script or style, nothing from the network, no forms: model text cannot act even if escaping failed."""

VERDICTS = ("correct", "incorrect")
"""Words of a verdict; its number is that of the predicted class."""

DifferenceKind = Literal["miss", "alarm", "lenient", "strict", "none"]
"""Ways in which an answer can differ from the reference. A miss is a step with less than full points that was called
fully correct; a false alarm is the opposite."""
ROLE_TITLES = {
    "model": "model",
    "reference": "reference judge: no model",
    "supervised": "baseline learnt from labels",
    "human": "physicians",
    "no_video": "no-video baseline",
}
SCRIPT_WORDS = ("no video", "no parts", "no reply", "no place", "no prompt")
"""Sentences that the scripts say."""


class Site:
    """A folder of pages under construction; every page shows ``facts`` (title, navigation, data set, options)."""

    def __init__(self, out: Path, facts: Mapping[str, Any]) -> None:
        self.out = out
        self.environment = templates()
        self.environment.tests["number"] = lambda cell: isinstance(cell, Number)  # tests of the templates' own
        people = (facts.get("dataset") or {}).get("people", "physicians")
        self.environment.globals |= {"site": facts, "csp": POLICY, "roles": ROLES, "role_titles": ROLE_TITLES,
                                     "say": partial(say, people=people), "cell_of": number,
                                     "script_words": json.dumps({key: WORDS[key] for key in SCRIPT_WORDS})}  # fmt: skip

    def page(self, path: str, template: str, **values: Any) -> None:
        """Render a template to ``path`` (relative, with slashes)."""
        text = self.environment.get_template(template).render(root="../" * path.count("/"), here=path, **values)
        with atomic_write(self.out / path) as stream:
            stream.write(text)

    def static(self) -> None:
        """Copy the style sheet, scripts and icon."""
        for item in (resources.files("siming_tasks.study.report") / "static").iterdir():
            with atomic_write(self.out / "static" / item.name, "wb") as stream:
                stream.write(item.read_bytes())


@dataclass(frozen=True)
class ReportContents:
    """Everything that the pages of a report are written from, into the folder ``out``.

    ``facts`` is what every page shows, with the navigation; ``report`` has the numbers as in
    ``report.json``; ``standings`` are the comparisons by setting; ``link`` gives the address of a video's file.
    """

    out: Path
    facts: Mapping[str, Any]
    report: Mapping[str, Any]
    standings: Mapping[str, Standing]
    analyses: Sequence[RunAnalysis]
    dataset: Dataset
    link: VideoLinker

    @property
    def site(self) -> Site:
        """The folder of pages; made again in each process, since templates do not travel to worker processes."""
        return Site(self.out, self.facts)


@dataclass(frozen=True)
class Page:
    """A page of the report, or a folder of pages of one kind.

    A new one is a module of this folder that ends with its ``PAGE``, and its template.

    Attributes:
        write: writes every ``shares``-th page beginning with the ``share``-th, given as its second and third argument.
        title: in the navigation of all pages; empty for pages that other pages lead to.
        href: where the navigation leads.
        shared: worker processes share the pages; otherwise one process writes them all.
        place: in the navigation; those of equal place follow their modules' names.
    """

    write: Callable[[ReportContents, int, int], None]
    title: str = ""
    href: str = ""
    shared: bool = False
    place: int = 9


def neighbours(ids: Sequence[str], index: int) -> dict[str, str | None]:
    """The pages before and after one of a row of pages; None at the ends."""
    return {"before": ids[index - 1] if index else None, "after": ids[index + 1] if index + 1 < len(ids) else None}


def answer_address(setting: str, video: str, run: str | None = None, step: str | None = None) -> str:
    """The address, from the report's folder, of one judge's answer to one step of an exam.

    Example:
        >>> answer_address("clip_score", "v001", "my-model", "cpr_11")
        'videos/v001.html#clip_score/my-model/cpr_11'
    """
    return f"videos/{quote(video)}.html#" + "/".join(quote(part) for part in (setting, run, step) if part)
