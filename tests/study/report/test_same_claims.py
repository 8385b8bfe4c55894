"""The same ranks, pairs and claims behind every door: ``siming compare``, a report's files and pages, and a board."""

import csv
import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.study.report.build import write_report
from siming_tasks.study.results.discovery import find_runs
from siming_tasks.study.results.run import read_run
from siming_tasks.tools.board.submission import ModelCard, pack
from tests.runs import unanswered, write_run
from tests.study.report.conftest import OPTIONS, host
from tests.tiny_study import drawn, write_exams

SETTINGS = ("full_score", "full_error")
SEES = {"yes": "shown", "no": "not shown", "not shown": "not shown", "not tested": "not tested"}
STATES = ("open", "as good", "not tested")
Facts = dict[tuple[Any, ...], Any]
"""By setting, kind of fact and judges, what a door says."""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    exams = write_exams(tmp_path_factory.mktemp("tiny") / "exams", drawn("consensus", "rater_a", "rater_b"))
    return open_dataset(exams, media=False)


def write_judges(
    exams: Dataset, root: Path, models: int, references: int, settings: tuple[str, ...]
) -> dict[str, Path]:
    """Runs by name: models from good to bad, the last with a copy, a constant and a lazy one; and reference judges."""
    made = {}
    for number in range(models):
        like = 7 if number == 8 else number  # a copy
        kind, noise = ("all_correct", 0.0) if number == 10 else ("oracle", 0.1 + 0.08 * like)
        how: dict[str, Any] = {"noise": noise, "seed": like, "settings": settings}
        made[f"m{number}"] = write_run(exams, root / f"m{number}", kind, model=f"lab/m{number}", **how)
        if number == 11:
            for log in made["m11"].glob("*_samples_*"):
                unanswered(log, range(2))
    for kind in ("rater_a", "all_correct")[:references]:
        made[kind] = write_run(exams, root / kind, kind, settings=settings)
    return made


def of_json(setting: str, part: dict[str, Any], answers: list[dict[str, Any]]) -> Facts:
    """Facts of a comparison as ``siming compare --json`` and ``report.json`` have it."""
    facts: Facts = {}
    won = [pair["leader"] for pair in part["pairs"] if pair["state"] == "better"]
    for judge in part["runs"]:
        rank = part["ranks"].get(judge)
        facts[setting, "rank", judge] = (rank["low"], rank["high"]) if rank else None
        others = len(part["ranks"]) - 1
        facts[setting, "better than", judge] = f"{won.count(judge)} of {others}" if rank and others else ""
    for pair in part["pairs"]:
        better = pair["leader"] if pair["state"] == "better" else ""
        assert not better or pair["p_holm"] <= 0.05, "corrected over all settings, not over this one"
        facts[(setting, "pair", *sorted((pair["a"], pair["b"])))] = (pair["state"], better)
        facts[(setting, "p", *sorted((pair["a"], pair["b"])))] = pair["p_holm"]
    for each in answers:
        for name in ("leads", "sees_video", "physicians", "rival", "cite", "single"):
            facts[setting, name, each["run"]] = each[name]
        if each["single"]:
            facts[setting, "single, printed", each["run"]] = " to ".join(
                f"{round(value, 3) + 0.0:.3f}" for value in each["single"]
            )
    facts[setting, "sentence"] = part["sentence"]
    return facts


def numbers(text: str) -> tuple[int, int] | None:
    """A printed rank, ``1``, ``1 to 3`` or ``2 (1 to 3)``, as the ranks that are open; None without one."""
    found = re.findall(r"\d+", text)[-2:]
    return (int(found[0]), int(found[-1])) if found else None


def cells(row: str) -> list[str]:
    """Texts of the cells of a row of an HTML table."""
    found = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, flags=re.DOTALL)
    return [re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", cell))).strip() for cell in found]


def of_page(page: str, *, board: bool = False) -> Facts:
    """Facts of ``index.html`` of a report or a board."""
    facts: Facts = {}
    for setting, section in re.findall(r'<section id="(full_\w+)"(.*?)</section>', page, flags=re.DOTALL):
        first, *others = re.findall(r"<tbody>(.*?)</tbody>", section, flags=re.DOTALL)
        for row in re.findall(r'<tr class="(?:model|reference)[^>]*>(.*?)</tr>', first, flags=re.DOTALL):
            rank, name, _, *rest = cells(row)
            judge = name.split()[1]
            facts[setting, "rank", judge] = numbers(rank)
            facts[setting, "better than", judge] = rest[-2].replace("–", "")
            if board:
                facts[setting, "sees_video", judge] = SEES[rest[0]]
            elif " over " in rest[-3]:
                facts[setting, "rival", judge] = re.sub(r"^.* over |; beats all$", "", rest[-3])
                facts[setting, "shown", judge] = rest[-3].endswith("; beats all")
        for row in re.findall(r"<tr>(.*?)</tr>", "".join(others), flags=re.DOTALL) if not board else ():
            a, b, *_, said = cells(row)
            better = said.removesuffix(" is better") if said.endswith(" is better") else ""
            if state := "better" if better else next((s for s in STATES if said.startswith(s)), ""):
                facts[(setting, "pair", *sorted((a, b)))] = (state, better)
        if not board:
            (facts[setting, "sentence"],) = cells("<td>" + re.findall(r"<dd>(.*?)</dd>", section)[0] + "</td>")
    return facts


def of_text(text: str) -> Facts:
    """Facts of what ``siming compare`` prints."""
    facts: Facts = {}
    text = re.sub(r" {2,}", " ", text)
    parts = re.split(r"^## (full_\w+) on .*$", text, flags=re.MULTILINE)
    for setting, part in zip(parts[1::2], parts[2::2], strict=True):
        for name, rank in re.findall(r"^\| (\S+) \| (\d+ \(\d+ to \d+\)|-) \| [-\d.]", part, flags=re.MULTILINE):
            facts.setdefault((setting, "rank", name), numbers(rank))
    for table, setting in re.findall(r"((?:^\|.*\n)+)\nFour answers in (full_\w+)\.$", text, flags=re.MULTILINE):
        for row in re.findall(r"^\| (.*) \|$", table, flags=re.MULTILINE)[2:]:
            name, leads, saw, _, claim, _, single, _ = row.split(" | ")
            if single != "-":
                facts[setting, "single, printed", name] = single
            facts[setting, "leads", name], facts[setting, "physicians", name] = leads, claim.replace("-", "")
            facts[setting, "sees_video", name] = saw.split(", over ")[0]
    return facts


def of_judge(page: Path) -> Facts:
    """Facts of the page of one judge."""
    (name,) = re.findall("<h1>.*<bdi>(.*?)</bdi>", text := page.read_text())
    sections = re.findall(r'<section id="(full_\w+)"(.*?)</section>', text, flags=re.DOTALL)
    found = {setting: re.search(r"With single \w+ as the reference .*? has a [\w ()]+ of ([-\d. to]+)\.<", text)
             for setting, text in sections}  # fmt: skip
    return {(setting, "single, printed", name): said[1] for setting, said in found.items() if said}


def of_csv(path: Path) -> Facts:
    """Facts of a table of a report as a file."""
    facts: Facts = {}
    with path.open(newline="") as stream:
        for row in csv.DictReader(stream):
            if row["Kind"] in ("model", "reference"):
                facts[path.stem, "rank", row["Judge"]] = numbers(row["Rank"])
                facts[path.stem, "sees_video", row["Judge"]] = SEES[row["Beats all no-video baselines"] or "not tested"]
                facts[path.stem, "better than", row["Judge"]] = row["Better than"]
    return facts


def doors(exams: Dataset, runs: dict[str, Path], root: Path, said: Callable[..., str]) -> dict[str, Facts]:
    """What each door says of the runs; a board of the models alone, as it takes no reference judge."""
    words = ["compare", *(f"{name}={path}" for name, path in runs.items()), "--data", str(exams.root)]
    told = {"compare": of_text(said(*words)), "compare --json": Facts(), "report.json": Facts(), "board.json": Facts()}
    for name, part in json.loads(said(*words, "--json"))["settings"].items():
        told["compare --json"] |= of_json(name, part, part["answers"])
    write_report(find_runs(words[1:-2]), exams, root / "report", OPTIONS, media="none", progress=False)
    for name, part in json.loads((root / "report" / "report.json").read_text())["comparisons"].items():
        told["report.json"] |= of_json(name, part["comparison"], part["answers"])
    told["report"] = of_page((root / "report" / "index.html").read_text())
    pages = (root / "report" / "models").glob("*.html")
    told["judges"] = {fact: value for page in pages for fact, value in of_judge(page).items()}
    assert sum(fact[1] == "single, printed" for fact in told["judges"]) >= sum(name[0] == "m" for name in runs) - 1
    told["tables"] = {fact: value for table in (root / "report" / "tables").glob("full_?????.csv")
                      for fact, value in of_csv(table).items()}  # fmt: skip
    for name in (name for name in runs if name.startswith("m")):
        (source,) = find_runs([str(runs[name])])
        pack(source, read_run(source, exams).records, exams, ModelCard(name=name), root / "inbox" / name / "a.zip")
    host(root / "inbox", exams, root / "board")
    for part in json.loads((root / "board" / "board.json").read_text())["settings"]:
        for row in part["judges"]:
            told["board.json"][part["setting"], "rank", row["name"]] = numbers(row["rank"])
            k, n = row["better_than"]
            told["board.json"][part["setting"], "better than", row["name"]] = f"{k} of {n}" if n else ""
            sees = {True: "shown", False: "not shown", None: "not tested"}[row["beats_all_no_video_baselines"]]
            told["board.json"][part["setting"], "sees_video", row["name"]] = sees
        told["board.json"] |= {(part["setting"], "rank", name): None for name in part["not_ranked"]}
    told["board"] = of_page((root / "board" / "index.html").read_text(), board=True)
    return told


def differences(told: dict[str, Facts]) -> tuple[int, list[str]]:
    """How many facts were told twice or more with one meaning, and those that were told with two."""
    same, different = 0, []
    for fact in dict.fromkeys(fact for facts in told.values() for fact in facts):
        by = {door: facts[fact] for door, facts in told.items() if fact in facts}
        first = next(iter(by.values()))
        same += sum(value == first for value in by.values()) - 1
        different += [f"{fact}: {by}"] if any(value != first for value in by.values()) else []
    return same, different


@pytest.mark.parametrize(
    ("models", "least"),
    [(1, 25), (12, 300), *(pytest.param(*case, marks=pytest.mark.weekly) for case in ((3, 100), (30, 2000)))],
)
def test_ranks_pairs_and_claims_are_the_same_behind_every_door(
    models: int, least: int, tiny: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also with reference judges among the runs: these change nothing that is said of a model."""

    def said(*words: str) -> str:
        assert main([*words]) == 0
        return capsys.readouterr().out

    told = {}
    for references in (0, 2):
        root = tmp_path / str(references)
        settings = SETTINGS[models == 12 :]  # of twelve one: each takes the time of sixty-six tests of pairs
        runs = write_judges(tiny, root / "runs", models, references, settings)
        here = doors(tiny, runs, root, said)
        same, different = differences(here)
        assert not different, different
        assert same >= least
        told |= {f"{door}, {references} reference judges": facts for door, facts in here.items()}
    of_models = {door: {fact: value for fact, value in facts.items()
                        if fact[1] != "sentence" and not {"rater_a", "all_correct"} & {*fact[2:]}}
                 for door, facts in told.items()}  # fmt: skip
    same, different = differences(of_models)
    assert not different, different
    assert same >= 2 * least
