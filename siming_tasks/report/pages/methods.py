"""Page on how to read the others: definitions, the data and the versions of everything."""

from __future__ import annotations

from siming_tasks.report.pages.site import Page, ReportContents
from siming_tasks.rubrics import Rubric


def _write(contents: ReportContents, share: int, shares: int) -> None:
    """Write ``methods.html``."""
    report, rubric, facts = contents.report, contents.dataset.rubric, contents.report["dataset"]
    rows = [
        ("dataset", f"{facts['name']} {facts['version']}{' (synthetic)' if report['synthetic'] else ''}"),
        ("digest", facts["digest"]),
        ("license", str(facts["license"] or "not stated")),
        ("videos", str(facts["videos"]) + (f", split {facts['split']}" if "split" in facts else "")),
        ("raters", "; ".join(f"{name}: {about}" for name, about in facts["raters"].items()) or "none"),
        ("rubric", f"{rubric.rubric_id} {rubric.version}, {facts['steps']} steps, {facts['points']:g} points"),
        *([("of several attempts", f"the {facts['attempts']} one")] if "attempts" in facts else []),
        ("scored with", ", ".join(f"{key} {value}" for key, value in report["options"].items())),
        ("siming-tasks", report["version"]),
    ]
    contents.site.page("methods.html", "methods.html", facts=rows, rubric_note=_rubric_note(rubric))


def _rubric_note(rubric: Rubric) -> str:
    """The origin of the rubric in a sentence."""
    if rubric.rubric_id == "siming-default":
        return (
            "The rubric is a reconstruction from public guidelines, reviewed by no clinician; it is not the "
            "physicians’ rubric of the paper."
        )
    return f"The rubric is {rubric.rubric_id} {rubric.version}, as the data set states it."


PAGE = Page(_write, "How to read this", "methods.html")
