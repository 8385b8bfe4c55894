"""``siming compare``, ``siming study raters`` and ``siming study power`` as a user runs them."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import siming_tasks as st
from siming_tasks.cli import main
from tests.tiny_study import VIDEOS, Points, drawn, write_answers, write_exams


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_exams(tmp_path_factory.mktemp("data"), drawn("consensus", "rater_a", "rater_b"))


@pytest.fixture
def runs(data: Path, tmp_path: Path) -> Callable[..., str]:
    """``runs("good", noise=0.1)``: a prediction file that follows the consensus but for some noise."""

    def write(name: str, noise: float, *, videos: int = VIDEOS, answer: str = "score", media: str = "") -> str:
        how = {"settings": [f"full_{answer}"], "videos": videos, "media": media}
        return str(write_answers(tmp_path / f"{name}.jsonl", data, 1 - noise, **how))

    return write


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, output with single spaces (columns are padded to one width), errors."""
    code = main([*arguments])
    out, err = capsys.readouterr()
    return code, out if "--json" in arguments else re.sub(r" {2,}", " ", out), err


def qwk(path: str, data: Path) -> st.Estimate:
    return (
        st.score_run(st.load(path, st.open_dataset(data, media=False)))
        .rows("full_score")
        .one("ranked", "all steps", "qwk")
    )


def test_compare_prints_a_sentence_and_every_table_and_json_holds_the_same(data, runs, capsys):
    good, weak = runs("good", 0.2), runs("weak", 0.8)
    code, out, err = run(capsys, "compare", good, weak, "--data", str(data))
    assert (code, err) == (0, "") and "nan" not in out.lower()
    first = out.split("\n")[0].replace("\\", "")
    assert first.startswith(
        f"**good ({qwk(good, data)}) agrees better with the reference than weak ({qwk(weak, data)}): by "
    )
    assert first.endswith("over 12 SYNTHETIC exams.**")
    titles = ["Agreement", "Differences", "Inter-physician agreement", "Judge with each physician"]
    titles += ["Judge minus physicians", "No-video baselines", "Lead over the no-video baselines"]
    for title in titles:
        assert f"\n### {title}\n" in out
    assert "| good minus weak |" in out and "| shuffled-answers of good |" in out
    options = ("--data", str(data), "--json", "--against", "b", "--margin", "0.1")
    code, out, _ = run(capsys, "compare", f"a={good}", f"b={weak}", *options)
    found = json.loads(out, parse_constant=pytest.fail)
    part = found["settings"]["full_score"]
    assert code == 0 and found["synthetic"] is True and part["runs"] == ["a", "b"]
    rows, (pair,) = st.Rows.from_json(part["rows"]), part["pairs"]
    a, b = (rows.one("ranked", name, "qwk").value for name in "ab")
    difference = rows.one("differences", "a minus b", "qwk")
    assert pair["value"] == difference.value == pytest.approx(a - b, abs=1e-12)
    assert pair["p_holm"] == difference.p and part["tests"] == 1 and pair["leader"] == "a"
    assert part["physicians"]["a"]["margin"] == 0.1 and set(part["rivals"]) == {"a", "b"}
    # six students are left out one at a time; two sites are too few, and are fixed
    assert (pair["unit"], pair["clusters"]) == ("student", 6)


def test_compare_refuses_in_one_sentence(data, runs, capsys):
    good = runs("good", 0.2, media="video")
    for how, options, said in (
        ({"videos": 9}, ("--partial",), "over different videos: 3 only in 'good' (v09, v10, v11)."),
        ({"media": "frames"}, (), "differ in media: video against frames (full_score/v00; "),
        ({"answer": "error"}, (), "The runs have no setting in common: good has full_score; weak has full_error."),
        ({}, ("--against", "x"), "There is no run 'x' to compare with. The runs are good, weak."),
        ({"videos": 0}, (), "weak.jsonl: the file is empty; it has no predictions."),
    ):
        code, out, err = run(capsys, "compare", good, runs("weak", 0.8, **how), "--data", str(data), *options)
        assert (code, out) == (1, "") and err.startswith("siming compare: ") and said in err and err.count("\n") == 1
    for other, said in ((good, "is given twice under the name a; paths with the same name are "
                               "read as parts of one run."),
                        (runs("weak", 0.8), "If these are two runs, give them different names")):  # fmt: skip
        code, out, err = run(capsys, "compare", f"a={good}", f"a={other}", "--data", str(data))
        assert (code, out) == (1, "") and said in err


def test_allowed_differences_repeats_and_one_run_alone(data, runs, capsys):
    paths = (runs("good", 0.2, media="video"), runs("weak", 0.8, media="frames", videos=9))
    words = ("compare", *paths, "--data", str(data), "--partial", "--allow", "media", "--allow", "videos", "--json")
    code, out, _ = run(capsys, *words)
    part = json.loads(out)["settings"]["full_score"]
    assert code == 0 and (part["videos"], part["allowed"]) == (9, ["media", "videos"])
    code, out, _ = run(capsys, *words[:-1])
    assert code == 0 and "\nThe runs may differ in media, videos (--allow).\n" in out
    code, out, _ = run(capsys, "compare", paths[0], runs("better", 0.2), "--data", str(data), "--repeated")
    assert code == 0 and out.startswith("## full_score on tiny 1, SYNTHETIC data, 2 repeats\n")
    code, out, _ = run(capsys, "compare", paths[0], "--data", str(data))
    assert code == 0 and out.startswith(f"**good agrees with the reference by {qwk(paths[0], data)} in kappa")
    assert "good agrees better with the reference than each of the" in out


def test_runs_of_one_name_are_told_apart_by_their_paths(data, runs, capsys, tmp_path):
    for name in ("one", "other"):
        (tmp_path / name / "deep").mkdir(parents=True)
    one, other = (str(tmp_path / name / "deep" / "same.jsonl") for name in ("one", "other"))
    shutil.copy(runs("same", 0.2), one)
    shutil.copy(runs("weak", 0.8), other)
    code, out, err = run(capsys, "compare", one, other, "--data", str(data))
    assert code == 0 and "same (other)" in out  # by the folder that differs, not by the one of both
    assert not err
    (tmp_path / "other" / "flat").mkdir()
    third = shutil.copy(other, tmp_path / "other" / "flat" / "same.jsonl")  # no part differs in all three
    err = run(capsys, "compare", one, other, str(third), "--data", str(data))[2]
    names = ("same (same)", one), ("same (same) (2)", other), ("same (same) (3)", third)
    assert err == "".join(f"{name} is {path}. NAME=PATH gives it another name.\n" for name, path in names)
    assert not run(capsys, "compare", f"a={one}", f"b={other}", "--data", str(data))[2]


def test_a_run_that_was_asked_a_part_of_the_questions_is_compared_and_diagnosed_with_that_warning(data, runs, capsys):
    said = "full_score: only 4 of 12 questions asked; the run is not ranked with runs that were asked all."
    part, other = runs("part", 0.2, videos=4), runs("other", 0.8, videos=4)
    code, out, _ = run(capsys, "compare", part, other, "--data", str(data), "--partial")
    assert code == 0 and f"part: {said}" in out and f"other: {said}" in out
    code, out, _ = run(capsys, "compare", part, "--data", str(data), "--partial", "--json")
    assert json.loads(out)["warnings"] == [f"part: {said}"]
    code, out, _ = run(capsys, "score", part, "--data", str(data), "--partial", "--show", "diagnosis")
    assert code == 0 and said in out
    code, out, _ = run(capsys, "compare", runs("all", 0.2), "--data", str(data))
    assert code == 0 and "questions asked" not in out


def test_raters_are_chosen_by_name_and_a_consensus_alone_is_nobody(data, runs, capsys, tmp_path):
    out = run(capsys, "study", "raters", str(data), "--raters", "rater_b", "consensus")[1]
    assert "| consensus and rater_b |" in out and "rater_a" not in out
    alone = write_exams(tmp_path / "alone", drawn("consensus"))
    apart = write_exams(tmp_path / "apart", lambda v, s: {"a": full(v, s)} if v < 3 else {"b": full(v, s)}, 6)
    for words, said in (
        ([str(data), "--raters", "x", "rater_a"], "tiny has no rater 'x'; it has consensus, rater_a, rater_b."),
        ([str(alone)], "The agreement of physicians cannot be computed: it needs the labels of two raters"),
        ([str(apart)], "No step was scored by two of a, b; their agreement cannot be computed."),
    ):
        code, out, err = run(capsys, "study", "raters", *words)
        assert (code, out) == (1, "") and said in err
    code, out, _ = run(capsys, "compare", runs("good", 0.2), runs("weak", 0.8), "--data", str(alone))
    assert code == 0 and "physicians" not in out.lower()


def test_power_is_of_a_pilot_or_of_stated_rates(data, runs, capsys):
    """Twice the videos: the error of the pilot's difference over the square root of two."""
    paths = (runs("good", 0.2), runs("weak", 0.4))
    words = ("study", "power", "--pilot", *paths, "--data", str(data), "--videos", "24", "--effect", "0.1", "--json")
    code, out, _ = run(capsys, *words)
    rows = {row["metric"]: row["value"] for row in json.loads(out)["rows"]}
    error = st.compare(*paths, data=st.open_dataset(data, media=False)).pairs[0].estimate.stderr / 2**0.5
    assert code == 0 and json.loads(out)["synthetic"] is False and rows["stderr"] == pytest.approx(error)
    code, out, err = run(capsys, "study", "power", "--videos", "100", "--metric", "mcc")
    assert (code, err) == (0, "") and out.startswith("SYNTHETIC: two simulated judges, 18.6% of the steps wrong")
    assert run(capsys, "study", "power", "--agreement", "0.1", "--effect", "0.2")[0] == 1


def full(v: int, s: int) -> float:
    return 9.0 if (v + s) % 5 else 1.0


def test_small_and_degenerate_ratings_give_a_report(tmp_path, capsys):
    small: dict[str, tuple[Points, int]] = {
        "one exam": (lambda v, s: {"a": full(v, s), "b": full(v, s + 1)}, 1),
        "full points everywhere": (lambda _v, _s: {"a": 9.0, "b": 9.0}, 4),
        "one exam in common": (lambda v, s: ({"a": full(v, s)} if v < 4 else {}) | ({"b": 1.0} if v > 2 else {}), 6),
        "three": (lambda v, s: {"a": full(v, s)} | ({"b": full(v, s + 1)} if v < 6 else {"c": full(v, s + 2)}), 12),
    }
    for name, (points, videos) in small.items():
        folder = write_exams(tmp_path / name, points, videos)
        code, out, _ = run(capsys, "study", "raters", str(folder))
        assert code == 0 and "### Raters by step" in out and "The judge minus" not in out, name
        for table in out.split("###")[1:]:
            assert "The interval is of" not in table or "[" in table, name
        json.loads(run(capsys, "study", "raters", str(folder), "--json")[1], parse_constant=pytest.fail)  # no NaN
