"""``siming compare``, ``siming study raters`` and ``siming study power`` as a user runs them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score, matthews_corrcoef

import siming_tasks as st
from siming_tasks.cli import main
from siming_tasks.rubrics import default_rubric

VIDEOS = 12
STEPS = default_rubric().steps
RUBRIC = Path(main.__code__.co_filename).parents[1] / "rubrics" / "default.yaml"
Points = Callable[[int, int], Mapping[str, float]]
"""Points by rater, of the number of a video and of a step; more than a step has are full points."""


def exams(root: Path, points: Points, videos: int = VIDEOS) -> Path:
    """A data set without films, of the default rubric's steps; two exams of each student, two sites."""
    root.mkdir(exist_ok=True)
    shutil.copy(RUBRIC, root / "rubric.yaml")
    (root / "dataset.yaml").write_text('name: tiny\nversion: "1"\nsynthetic: true\nlicense: CC0-1.0\n')
    rows = []
    for v in range(videos):
        steps = []
        for s, step in enumerate(STEPS):
            score = {name: min(step.max_score, value) for name, value in points(v, s).items()}
            steps.append({"step_id": step.id, "start": 0.1, "end": 0.9, "score": score})
        row = {"video_id": f"v{v:02d}", "media": f"media/v{v:02d}.mp4", "duration": 1.0, "steps": steps}
        rows.append({**row, "student": f"s{v // 2}", "site": f"h{v // 2 % 2}"})
    (root / "videos.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return root


def drawn(*raters: str) -> Points:
    """Half of the steps wrong at random; each rater sees nine of ten as they are."""
    rng = np.random.default_rng(0)
    truth = {(v, s): float(rng.choice([9, rng.integers(0, 2)])) for v in range(VIDEOS) for s in range(len(STEPS))}
    return lambda v, s: {name: truth[v, s] if rng.random() < 0.9 else float(rng.integers(0, 3)) for name in raters}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exams(tmp_path_factory.mktemp("data"), drawn("consensus", "rater_a", "rater_b"))


@pytest.fixture
def runs(data: Path, tmp_path: Path) -> Callable[..., str]:
    """``runs("good", noise=0.1)``: a prediction file that follows the consensus but for some noise."""

    def write(name: str, noise: float, *, videos: int = VIDEOS, answer: str = "score", media: str = "") -> str:
        rng, top = np.random.default_rng(len(name)), {step.id: step.max_score for step in STEPS}
        lines = []
        for text in (data / "videos.jsonl").read_text().splitlines()[:videos]:
            row, points = json.loads(text), {}
            for step in row["steps"]:
                own = rng.random() <= noise
                name_of = step["step_id"]
                points[name_of] = int(rng.integers(0, top[name_of] + 1) if own else step["score"]["consensus"])
            words = {key: "correct" if value == top[key] else "incorrect" for key, value in points.items()}
            line = {"setting": f"full_{answer}", "video_id": row["video_id"]}
            line |= {"scores": points} if answer == "score" else {"verdicts": words}
            lines.append(json.dumps(line | ({"media": {"mode": media}} if media else {})) + "\n")
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
        return str(tmp_path / f"{name}.jsonl")

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
    titles = ["Agreement", "Differences", "Physicians with each other", "Judge with each physician"]
    titles += ["Judge minus physicians", "Judges that never look", "Over the best judge that never looks"]
    for title in titles:
        assert f"\n### {title}\n" in out
    assert "| good minus weak |" in out and "| shuffled-self of good |" in out
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


def test_a_setting_that_cannot_be_compared_does_not_stop_the_others(data, runs, capsys, tmp_path):
    paths = []
    for name, noise, media in (("good", 0.2, "video"), ("weaker", 0.8, "frames")):
        scores = Path(runs(name, noise)).read_text()
        verdicts = Path(runs(name, noise, answer="error", media=media)).read_text()
        paths.append(str(tmp_path / f"{name}-both.jsonl"))
        Path(paths[-1]).write_text(scores + verdicts)
    code, out, _ = run(capsys, "compare", *paths, "--data", str(data), "--json")
    found = json.loads(out)
    assert code == 0 and list(found["settings"]) == ["full_score"]
    assert "Runs 'good-both' and 'weaker-both' differ in media" in found["not_compared"]["full_error"]


def test_repeated_runs_have_a_mean_and_a_standard_deviation(data, runs, capsys):
    paths = (runs("good", 0.2), runs("better", 0.2))
    code, out, _ = run(capsys, "compare", *paths, "--data", str(data), "--repeated", "--json")
    rows = st.Rows.from_json(json.loads(out)["repeated"]["full_score"])
    each = [qwk(path, data).value for path in paths]
    assert code == 0 and rows.one(row="mean", metric="qwk").value == pytest.approx(np.mean(each))
    assert rows.one(row="sd", metric="qwk").value == pytest.approx(np.std(each, ddof=1))


@pytest.mark.parametrize(
    ("how", "options", "said"),
    [
        ({"videos": 9}, ("--partial",), "over different videos: 3 only in 'good' (v09, v10, v11)."),
        ({"media": "frames"}, (), "differ in media: video against frames (full_score/v00; "),
        ({"answer": "error"}, (), "The runs have no setting in common: good has full_score; weak has full_error."),
        ({}, ("--against", "x"), "There is no run 'x' to compare with. The runs are good, weak."),
        ({"videos": 0}, (), "weak.jsonl: no line holds a prediction; the file is empty."),
    ],
)
def test_compare_refuses_in_one_sentence(data, runs, capsys, how, options, said):
    arguments = (runs("good", 0.2, media="video"), runs("weak", 0.8, **how), "--data", str(data))
    code, out, err = run(capsys, "compare", *arguments, *options)
    assert (code, out) == (1, "") and err.startswith("siming compare: ") and said in err and err.count("\n") == 1


def test_allowed_differences_are_accepted_and_said(data, runs, capsys):
    paths = (runs("good", 0.2, media="video"), runs("weak", 0.8, media="frames", videos=9))
    allowed = ("--partial", "--allow", "media", "--allow", "videos", "--json")
    code, out, _ = run(capsys, "compare", *paths, "--data", str(data), *allowed)
    part = json.loads(out)["settings"]["full_score"]
    assert code == 0 and (part["videos"], part["allowed"]) == (9, ["media", "videos"])


def test_one_run_is_held_against_judges_that_never_look(data, runs, capsys):
    code, out, _ = run(capsys, "compare", runs("good", 0.2), "--data", str(data))
    assert code == 0 and "there are no two judges to compare" in out
    assert "good agrees better with the reference than every judge that never looks at a video" in out


def test_raters_are_chosen_by_name_and_a_consensus_alone_is_nobody(data, runs, capsys, tmp_path):
    out = run(capsys, "study", "raters", str(data), "--raters", "rater_b", "consensus")[1]
    assert "| consensus and rater_b |" in out and "rater_a" not in out
    alone = exams(tmp_path / "alone", drawn("consensus"))
    apart = exams(tmp_path / "apart", lambda v, s: {"a": full(v, s)} if v < 3 else {"b": full(v, s)}, 6)
    for words, said in (
        ([str(data), "--raters", "x", "rater_a"], "tiny has no rater 'x'; it has consensus, rater_a, rater_b."),
        ([str(alone)], "The agreement of physicians cannot be computed: it needs the labels of two raters"),
        ([str(apart)], "No step was scored by two of a, b; their agreement cannot be computed."),
    ):
        code, out, err = run(capsys, "study", "raters", *words)
        assert (code, out) == (1, "") and said in err
    code, out, _ = run(capsys, "compare", runs("good", 0.2), runs("weak", 0.8), "--data", str(alone))
    assert code == 0 and "physicians" not in out.lower()


def test_power_scales_the_error_of_a_pilot_or_of_stated_rates(data, runs, capsys):
    """Twice the videos: the error of the pilot's difference over the square root of two."""
    paths = (runs("good", 0.2), runs("weak", 0.4))
    words = ("study", "power", "--pilot", *paths, "--data", str(data), "--videos", "24", "--effect", "0.1", "--json")
    code, out, _ = run(capsys, *words)
    found = json.loads(out)
    rows = {row["metric"]: row["value"] for row in found["rows"]}
    error = st.compare(*paths, data=st.open_dataset(data, media=False)).pairs[0].estimate.stderr / 2**0.5
    clusters = 2 * VIDEOS // 2
    reach = stats.t.ppf(0.975, clusters - 1)
    assert code == 0 and found["synthetic"] is False and rows["stderr"] == pytest.approx(error)
    assert rows["smallest"] == pytest.approx((reach + stats.norm.ppf(0.8)) * error)
    assert rows["power"] == pytest.approx(stats.norm.cdf(0.1 / error - reach) + stats.norm.cdf(-0.1 / error - reach))
    code, out, err = run(capsys, "study", "power", "--videos", "100", "--metric", "mcc")
    assert (code, err) == (0, "") and out.startswith("SYNTHETIC: two simulated judges, 18.6% of the steps wrong")
    assert run(capsys, "study", "power", "--agreement", "0.1", "--effect", "0.2")[0] == 1


def full(v: int, s: int) -> float:
    return 9.0 if (v + s) % 5 else 1.0


def test_small_and_degenerate_ratings_give_a_report(tmp_path, capsys):
    small: dict[str, tuple[Points, int]] = {
        "one exam": (lambda v, s: {"a": full(v, s), "b": full(v, s + 1)}, 1),
        "equal": (lambda v, s: {"a": full(v, s), "b": full(v, s)}, 4),
        "full points everywhere": (lambda _v, _s: {"a": 9.0, "b": 9.0}, 4),
        "one exam in common": (lambda v, s: ({"a": full(v, s)} if v < 4 else {}) | ({"b": 1.0} if v > 2 else {}), 6),
        "three": (lambda v, s: {"a": full(v, s)} | ({"b": full(v, s + 1)} if v < 6 else {"c": full(v, s + 2)}), 12),
    }
    for name, (points, videos) in small.items():
        folder = exams(tmp_path / name, points, videos)
        code, out, _ = run(capsys, "study", "raters", str(folder))
        assert code == 0 and "### Raters by step" in out, name
        json.loads(run(capsys, "study", "raters", str(folder), "--json")[1], parse_constant=pytest.fail)  # no NaN
    # of 20 exams, the first step is imperfect in 4 by either rater, the second in 12
    imperfect = (4, 12)
    thin = exams(
        tmp_path / "thin",
        lambda v, s: {"a": 1.0 if s < 2 and v < imperfect[s] else 9.0, "b": 1.0 if s < 2 and v < 3 else 9.0},
        20,
    )
    rows = st.Rows.from_json(json.loads(run(capsys, "study", "raters", str(thin), "--json")[1])["rows"])
    first, second = rows.of("raters by step", metric="kappa")[:2]
    assert first.value is not None and first.low is None and "Fewer than 10 videos" in first.why
    assert second.low is not None and second.n == 20


def test_raters_equal_another_library(tmp_path, capsys):
    """Kappa of a pair and of one step, the share that differs, and the unit that is left out."""
    points = lambda v, s: {"a": full(v, s), "b": full(v, s + v % 3)}  # noqa: E731
    folder = exams(tmp_path / "data", points)
    rows = st.Rows.from_json(json.loads(run(capsys, "study", "raters", str(folder), "--json")[1])["rows"])
    top = [step.max_score for step in STEPS]
    a, b = (np.array([[min(most, points(v, s)[who]) for s, most in enumerate(top)] for v in range(12)]) for who in "ab")
    labels = [np.select([each == 0, each >= top, top - each <= 1], [0, 3, 2], 1) for each in (a, b)]
    table = "physicians with each other"
    pair = rows.one(table, "a and b", "qwk")
    assert pair.value == pytest.approx(cohen_kappa_score(*(each.ravel() for each in labels), weights="quadratic"))
    assert rows.one(table, "a and b", "differ").value == pytest.approx((a != b).mean())
    assert (pair.clusters, pair.unit, pair.n) == (6, "student", 12)
    kappa = cohen_kappa_score(*(each[:, 4] for each in labels), weights="quadratic")
    assert rows.one("raters by step", STEPS[4].id, "kappa").value == pytest.approx(kappa)
    assert rows.one("raters by step", STEPS[4].id, "differ").value == pytest.approx((a != b)[:, 4].mean())
    wrong = matthews_corrcoef((a < top).ravel(), (b < top).ravel())
    assert rows.one(table, "verdicts: a and b", "mcc").value == pytest.approx(wrong)
    assert not rows.of("raters and consensus"), "there is none"
