"""Every answer that differs from the reference, as the browser of disagreements gets it."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product

import numpy as np
import pytest

from siming_tasks.report.pages.site import answer_address, disagreements_address


@pytest.fixture(scope="module")
def data(lab) -> dict[str, dict]:
    """By setting, what the page's script is given."""
    found = {}
    for path in sorted((lab.out / "disagreements").glob("*.js")):
        text = path.read_text()
        assert text.startswith("SIMING.answers(") and text.endswith(");\n") and text.isascii()
        found[path.stem] = json.loads(text[len("SIMING.answers(") : -len(");\n")])
    return found


def test_cells_count_as_the_confusion_tables_do(lab, data) -> None:
    """Each cell of a run's confusion table holds as many answers as its link leads to."""
    report = json.loads((lab.out / "report.json").read_text())
    assert set(data) == {"full_score", "full_error", "clip_score", "clip_error"}
    seen = 0
    for name, setting in data.items():
        for run in setting["runs"]:
            study = next(item for item in report["runs"] if item["slug"] == run["slug"])
            counts = study["settings"][name]["numbers"]["extra"]["confusion"]["counts"]
            pairs = Counter(zip(setting["truth"], run["said"], strict=True))
            for i, j in product(range(len(counts)), repeat=2):
                assert pairs[str(i), str(j)] == counts[i][j], (name, run["slug"], i, j)
                seen += counts[i][j]
    assert seen > 500


def test_cells_are_those_of_the_labels(lab, data) -> None:
    """Cells are video after video, step after step; points, physicians and spans stand where the data set has them."""
    setting, steps = data["full_score"], lab.dataset.rubric.steps
    assert [row[0] for row in setting["steps"]] == [step.id for step in steps]
    for v, s in product(range(len(lab.dataset.videos)), range(0, len(steps), 5)):
        label, k = lab.dataset.videos[v].step(steps[s].id), v * len(steps) + s
        assert setting["points"][k] == label.consensus
        assert {name: given[k] for name, given in setting["raters"].items()} == {
            rater: label.scores[rater] for rater in ("rater_a", "rater_b")
        }
        assert setting["videos"][v][2][s] == list(label.span)
    assert setting["levels"][setting["fine"]] == "fully correct"
    top = np.tile([step.max_score for step in steps], len(lab.dataset.videos))
    assert [digit == "3" for digit in setting["truth"]] == (np.array(setting["points"]) == top).tolist()


def test_what_was_not_asked_or_not_answered_is_told_apart(data) -> None:
    hostile = next(run for run in data["full_score"]["runs"] if run["slug"].startswith("org-img"))
    assert hostile["said"][:33] == "-" * 33, "its first reply cannot be read"
    assert "⟦U+202E⟧" in hostile["name"]
    assert not any(run["slug"].startswith("org-img") for run in data["clip_error"]["runs"]), "it was not asked"


def test_addresses_of_disagreements_and_answers() -> None:
    assert disagreements_address("clip_score", run="a b", truth=3, said=0) == (
        "disagreements/index.html#setting=clip_score&run=a+b&truth=3&said=0"
    )
    assert disagreements_address("full_error", kind="miss", raters="disputed", step="cpr_01").endswith(
        "#setting=full_error&step=cpr_01&kind=miss&raters=disputed"
    )
    assert answer_address("full_score", "v 1", step="cpr_01") == "videos/v%201.html#full_score/cpr_01"
