"""The first lines of a report: the four answers, each with what it rests on, alike on the page and in every file."""

import re
from dataclasses import replace
from html import unescape
from typing import Any
from xml.etree import ElementTree

import pytest

from siming_tasks.benchmark.metrics.estimate import Estimate, Rows
from siming_tasks.study.analysis.verdicts import Answers
from siming_tasks.study.report.answer_lines import _leader, answer_lines
from siming_tasks.study.report.exports import setting_section
from siming_tasks.study.report.figure import WIDE, Axis, ForestPlot, Mark, Panel, forest_plot
from siming_tasks.study.report.model_card import model_card
from siming_tasks.study.report.run_analysis import analyze_run
from siming_tasks.study.report.standings import Entrant, Standing, stand
from siming_tasks.study.report.table import to_markdown
from siming_tasks.study.results.discovery import find_runs, run_at
from tests.study.report.conftest import OPTIONS, Lab

NAME, MODEL = "clip_score", "example/Noisy-7B"


@pytest.fixture(scope="module")
def standing(lab: Lab) -> Standing:
    """Two runs in one setting."""
    entrants = []
    for source in find_runs([str(lab.runs / name) for name in ("oracle", "noisy")]):
        found = analyze_run(source, lab.dataset, OPTIONS)
        entrants.append(Entrant(found.task_runs[NAME], source.slug, source.role, found.settings[NAME]))
    made = stand(entrants, lab.dataset, NAME, OPTIONS)
    assert made and made.comparison
    return made


def test_the_lines_stand_before_the_figure_in_markdown_and_on_the_card(lab: Lab, standing: Standing) -> None:
    heads = [head for head, _ in answer_lines(standing)]
    page = unescape((lab.out / "index.html").read_text())
    for part in page.split("<section id=")[1:5]:
        before = re.sub(r"</?bdi>", "", part.split("<figure", 1)[0])
        assert len(re.findall("<dt>", before)) == 4 and "<dt>May be cited: nothing</dt>" in before
    card = to_markdown(model_card(run_at(lab.runs / "noisy"), lab.dataset, OPTIONS))
    texts = [card, to_markdown(setting_section(standing)), (lab.out / "report.md").read_text()]
    texts += [(lab.out / "tables" / f"{NAME}.md").read_text()]
    for text in texts:
        for start in ("Use of the video: ", "Compared with the physicians: ", "May be cited: nothing"):
            assert f"- **{start}" in text
    assert len(heads) == 4 and heads[1].startswith("Use of the video: ")


def test_each_line_names_what_it_rests_on(standing: Standing) -> None:
    made = standing.comparison
    assert made is not None
    (_, first), (_, unseen), (_, beside), (_, cited) = answer_lines(standing)
    best = max(row.value.value for row in standing.rows if row.role == "no_video" and row.value and row.value.value
               and row.source != "shuffled-answers of oracle")  # fmt: skip
    assert f"{best:.3f}" in unseen and "SYNTHETIC exams" in first
    assert "not tested" in beside  # four exams
    run, place = next((run, made.physicians[run]) for run in made.judged if run in made.physicians)
    sure = replace(place.claim, kind="worse", estimate=replace(place.claim.estimate, low=-0.75, high=-0.5))
    held = replace(made, physicians={run: replace(place, claim=sure)})
    head, beside = answer_lines(replace(standing, comparison=held))[2]
    assert head == "Compared with the physicians: worse" and "-0.626 [-0.750, -0.500]" in beside and run in beside
    assert "SYNTHETIC" in cited and f"{made.videos} exams, fewer than 20: a pilot." in cited
    assert "not reviewed by a clinician" in cited and cited.endswith("Not for scoring people.")


def test_the_lines_are_about_the_models_and_the_baselines_that_these_were_tested_against(standing: Standing) -> None:
    """The shuffled answers of a reference judge are no test of a model; nor is that judge counted where none ranks."""
    made = standing.comparison
    assert made is not None and set(made.runs) == {"oracle", MODEL} and made.judged == [MODEL]
    shuffled = [row for row in made.rows if row.row == "shuffled-answers of oracle"]
    assert len(shuffled) == 1
    rows = Rows(replace(row, value=0.987) if row is shuffled[0] else row for row in made.rows)
    lines = answer_lines(replace(standing, comparison=replace(made, rows=rows)))
    assert "0.987" not in lines[1][1] and "The best of these baselines, " in lines[1][1]
    unranked = replace(made, ranks={}, unranked={**made.unranked, MODEL: "All its answers are the same."})
    assert unranked.judged == [MODEL] and replace(unranked, unranked={}).judged == unranked.order


def test_accepted_differences_between_the_runs_are_among_the_limits(standing: Standing) -> None:
    made = standing.comparison
    assert made is not None and "may differ" not in answer_lines(standing)[-1][1]
    lenient = replace(made, facts={**made.facts, "allowed": ["frames", "schema"]})
    cited = answer_lines(replace(standing, comparison=lenient))[-1][1]
    assert "The runs may differ in frames, schema (--allow)." in cited


def test_real_exams_may_be_cited_and_nothing_is_said_of_a_reviewed_rubric(standing: Standing) -> None:
    made = standing.comparison
    assert made is not None
    many = replace(made, videos=200, facts={**made.facts, "synthetic": False})
    real = replace(standing, comparison=many, synthetic=False, rubric="")
    said = " ".join(answer_lines(real)[-1])
    assert "SYNTHETIC" not in said and "pilot" not in said and "rubric" not in said and "200 exams. Not for" in said
    withheld = replace(standing, comparison=None, why="Withheld.")
    assert answer_lines(withheld) == [("Not compared", "Withheld.")]


def test_a_leader_a_tie_and_no_leader_are_told_apart(standing: Standing) -> None:
    def of(*leads: Any) -> str:
        told = zip("abc", leads, strict=False)
        return _leader([Answers(name, each, "shown", None, "", "", None, None, ()) for name, each in told])

    assert of("leader", "behind") == "Leader: a" and of("alone", "not ranked") == "One judge"
    assert of("tie", "tie", "behind") == "Tie of 2" and of("behind", "behind") == of("not ranked") == "No leader"


@pytest.mark.parametrize(("most", "last"), [(0.931, "1.0"), (0.8, "0.8"), (0.5, "0.5"), (0.62, "0.7")])
def test_the_axis_of_the_figure_holds_its_intervals(most: float, last: str) -> None:
    axis = Axis.around([0.0, 0.5, most], 0.0, 100.0)
    assert axis.ticks()[-1][1] == last and 0 < axis.at(most) <= 100


def test_an_exported_figure_has_a_background_of_its_own(standing: Standing) -> None:
    figure = forest_plot(standing)
    assert figure and '<rect width="100%" height="100%" fill="#fff"/>' in figure.file()


def test_the_numbers_of_one_panel_end_before_the_next() -> None:
    """Two minus signs more than usual: 22 characters, whose mean width in 12 px is at most 6.7."""
    low = Estimate(-0.103, low=-0.144, high=-0.039)
    panels = [Panel("With the consensus"), Panel("With each physician")]
    drawn = ForestPlot("Clips", "kappa", panels, [Mark("a", "model", [low, low])])._draw("wide")
    said = [text for text in ElementTree.fromstring(str(drawn)).iter() if text.get("class") in ("said", "said head")]
    where = {text.text: float(text.get("x", 0)) for text in said if text.get("class") == "said head"}
    starts = [float(text.get("x", 0)) for text in said if text.get("class") == "said"]
    assert starts[0] + 22 * 6.7 <= where["With each physician"] and starts[1] + 22 * 6.7 <= WIDE
