"""``siming compare``, ``siming study raters`` and ``siming study power`` as a user runs them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
import pytest
from scipy import stats

import siming_tasks as st
from siming_tasks.cli import main
from siming_tasks.rubrics import default_rubric

VIDEOS = 12


@pytest.fixture(scope="module")
def clip(tmp_path_factory) -> Path:
    """A second of grey video."""
    path = tmp_path_factory.mktemp("clip") / "clip.mp4"
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        for _ in range(10):
            out.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((64, 64, 3), 90, np.uint8), format="rgb24")))
        out.mux(stream.encode())
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory, clip) -> Callable[..., Path]:
    """``folder(raters)``: a data set whose labels are drawn at random, with these raters."""

    def make(*raters: str) -> Path:
        rng = np.random.default_rng(0)
        root = tmp_path_factory.mktemp("data")
        (root / "media").mkdir()
        shutil.copy(Path(main.__code__.co_filename).parents[1] / "rubrics" / "default.yaml", root / "rubric.yaml")
        (root / "dataset.yaml").write_text('name: tiny\nversion: "1"\nsynthetic: true\nlicense: CC0-1.0\n')
        with (root / "videos.jsonl").open("w") as lines:
            for v in range(VIDEOS):
                shutil.copy(clip, root / "media" / f"v{v:02d}.mp4")
                steps = []
                for step in default_rubric().steps:
                    truth = float(rng.choice([step.max_score, rng.integers(0, step.max_score + 1)]))
                    score = {
                        r: truth if rng.random() < 0.9 else float(rng.integers(0, step.max_score + 1)) for r in raters
                    }
                    steps.append({"step_id": step.id, "start": 0.1, "end": 0.9, "score": score})
                row = {"video_id": f"v{v:02d}", "media": f"media/v{v:02d}.mp4", "duration": 1.0, "steps": steps}
                lines.write(json.dumps(row) + "\n")
        return root

    return make


@pytest.fixture(scope="module")
def data(folder) -> Path:
    return folder("consensus", "rater_a", "rater_b")


@pytest.fixture
def runs(data, tmp_path) -> Callable[..., str]:
    """``runs("good", noise=0.1)``: a prediction file that follows the consensus but for some noise."""

    def write(name: str, noise: float, *, videos: int = VIDEOS, answer: str = "score", media: str = "") -> str:
        rng = np.random.default_rng(len(name))
        top = {step.id: step.max_score for step in default_rubric().steps}
        with (tmp_path / f"{name}.jsonl").open("w") as lines:
            for text in (data / "videos.jsonl").read_text().splitlines()[:videos]:
                row = json.loads(text)
                points = {
                    s["step_id"]: s["score"]["consensus"]
                    if rng.random() > noise
                    else rng.integers(0, top[s["step_id"]] + 1)
                    for s in row["steps"]
                }
                line = {"setting": f"full_{answer}", "video_id": row["video_id"]}
                if answer == "score":
                    line["scores"] = {k: int(v) for k, v in points.items()}
                else:
                    line["verdicts"] = {k: "correct" if v == top[k] else "incorrect" for k, v in points.items()}
                if media:
                    line["media"] = {"mode": media}
                lines.write(json.dumps(line) + "\n")
        return str(tmp_path / f"{name}.jsonl")

    return write


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    """Exit code, output with single spaces (columns are padded to one width), errors."""
    code = main([*arguments])
    out, err = capsys.readouterr()
    return code, out if "--json" in arguments else re.sub(r" {2,}", " ", out), err


def test_compare_prints_a_sentence_and_every_table(data, runs, capsys):
    good, weak = runs("good", 0.2), runs("weak", 0.8)
    code, out, err = run(capsys, "compare", good, weak, "--data", str(data))
    assert (code, err) == (0, "") and "nan" not in out.lower()
    dataset = st.open_dataset(data)
    values = [st.score_run(st.load(path, dataset)).rows("full_score").one("ranked", "all steps", "qwk")
              for path in (good, weak)]  # fmt: skip
    first = out.split("\n")[0].replace("\\", "")
    assert first.startswith(f"**good ({values[0]}) agrees better with the reference than weak ({values[1]}): by ")
    assert first.endswith("over 12 SYNTHETIC exams.**")
    titles = ["Agreement", "Differences", "Physicians with each other", "Judge with each physician"]
    titles += ["Judge minus physicians", "Judges that never look", "Over the best judge that never looks"]
    for title in titles:
        assert f"\n### {title}\n" in out
    assert "| good minus weak |" in out and "| shuffled-self of good |" in out


def test_compare_json_holds_the_same(data, runs, capsys):
    options = ("--data", str(data), "--json", "--against", "b", "--margin", "0.1")
    code, out, _ = run(capsys, "compare", f"a={runs('good', 0.2)}", f"b={runs('weak', 0.8)}", *options)
    found = json.loads(out, parse_constant=pytest.fail)
    part = found["settings"]["full_score"]
    assert code == 0 and found["synthetic"] is True and part["runs"] == ["a", "b"]
    rows, (pair,) = st.Rows.from_json(part["rows"]), part["pairs"]
    a, b = (rows.one("ranked", name, "qwk").value for name in "ab")
    difference = rows.one("differences", "a minus b", "qwk")
    assert pair["value"] == difference.value == pytest.approx(a - b, abs=1e-12)
    assert pair["p_holm"] == difference.p and part["tests"] == 1 and pair["leader"] == "a"
    assert part["physicians"]["a"]["margin"] == 0.1 and set(part["rivals"]) == {"a", "b"}


def test_a_setting_that_cannot_be_compared_does_not_stop_the_others(data, runs, capsys, tmp_path):
    paths = []
    for name, noise, media in (("good", 0.2, "video"), ("weaker", 0.8, "frames")):
        scores = Path(runs(name, noise)).read_text()
        verdicts = Path(runs(name, noise, answer="error", media=media)).read_text()
        paths.append(str(tmp_path / f"{name}-both.jsonl"))
        Path(paths[-1]).write_text(scores + verdicts)
    code, out, _ = run(capsys, "compare", *paths, "--data", str(data))
    assert code == 0 and "| good-both minus weaker-both |" in out
    assert "full_error: not compared. Runs 'good-both' and 'weaker-both' differ in media" in out
    code, out, _ = run(capsys, "compare", *paths, "--data", str(data), "--json")
    found = json.loads(out)
    assert list(found["settings"]) == ["full_score"] and list(found["not_compared"]) == ["full_error"]


def test_repeated_runs_have_a_mean_and_a_standard_deviation(data, runs, capsys):
    paths = (runs("good", 0.2), runs("better", 0.2))
    code, out, _ = run(capsys, "compare", *paths, "--data", str(data), "--repeated")
    assert code == 0 and out.startswith("## full_score on tiny 1, SYNTHETIC data, 2 repeats\n")
    code, out, _ = run(capsys, "compare", *paths, "--data", str(data), "--repeated", "--json")
    rows = st.Rows.from_json(json.loads(out)["repeated"]["full_score"])
    dataset = st.open_dataset(data)
    each = [st.score_run(st.load(path, dataset)).rows("full_score").one("ranked", "all steps", "qwk").value
            for path in paths]  # fmt: skip
    assert rows.one(row="mean", metric="qwk").value == pytest.approx(np.mean(each))
    assert rows.one(row="sd", metric="qwk").value == pytest.approx(np.std(each, ddof=1))


@pytest.mark.parametrize(
    ("how", "options", "message"),
    [
        (
            {"videos": 9},
            ("--partial",),
            "Runs 'good' and 'weak' are over different videos: 3 only in 'good' (v09, v10, v11). Compare runs over the "
            "same videos, or accept the difference (--allow videos) to use the 9 they share.",
        ),
        (
            {"media": "frames"},
            (),
            "Runs 'good' and 'weak' differ in media: video against frames (full_score/v00; every "
            "request). Compare runs with the same media, or accept "
            "the difference (--allow media).",
        ),
        (
            {"answer": "error"},
            (),
            "The runs have no setting in common: good has full_score; weak has full_error. Give runs of the same "
            "setting.",
        ),
        ({}, ("--against", "x"), "There is no run 'x' to compare with. The runs are good, weak."),
    ],
)
def test_compare_refuses_in_one_sentence(data, runs, capsys, how, options, message):
    arguments = (runs("good", 0.2, media="video"), runs("weak", 0.8, **how), "--data", str(data))
    assert run(capsys, "compare", *arguments, *options) == (1, "", f"siming compare: {message}\n")


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


def test_an_empty_run_is_refused(data, runs, capsys, tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    code, out, err = run(capsys, "compare", runs("good", 0.2), str(tmp_path / "empty.jsonl"), "--data", str(data))
    assert (code, out) == (1, "")
    assert "empty.jsonl: no line holds a prediction; the file is empty." in err


def test_raters_are_chosen_by_name_and_unknown_ones_refused(data, capsys):
    out = run(capsys, "study", "raters", str(data), "--raters", "rater_b", "consensus")[1]
    assert "| consensus and rater_b |" in out and "rater_a" not in out
    message = "siming study raters: tiny has no rater 'x'; it has consensus, rater_a, rater_b.\n"
    assert run(capsys, "study", "raters", str(data), "--raters", "x", "rater_a") == (1, "", message)


def test_no_agreement_of_physicians_with_the_consensus_alone(folder, runs, capsys):
    alone = folder("consensus")
    code, out, err = run(capsys, "study", "raters", str(alone))
    assert (code, out) == (1, "")
    assert err == (
        "siming study raters: The agreement of physicians cannot be computed: it needs the labels of two raters before "
        "adjudication; this data set has those of consensus. A rater's agreement with the consensus is inflated and no "
        "substitute.\n"
    )
    code, out, _ = run(capsys, "compare", runs("good", 0.2), runs("weak", 0.8), "--data", str(alone))
    assert code == 0 and "physicians" not in out.lower()


def test_the_largest_unit_of_which_there_are_five_is_left_out(data, runs, capsys, tmp_path):
    """Six students are left out one at a time; two sites are too few, and are fixed."""
    root = tmp_path / "grouped"
    shutil.copytree(data, root)
    rows = [json.loads(line) for line in (root / "videos.jsonl").read_text().splitlines()]
    rows = [{**row, "student": f"s{n // 2}", "site": f"h{n // 2 % 2}"} for n, row in enumerate(rows)]
    (root / "videos.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    paths = [runs("good", 0.1), runs("weaker", 0.6)]
    assert main(["compare", *paths, "--data", str(root), "--setting", "full_score", "--json"]) == 0
    (pair,) = json.loads(capsys.readouterr().out)["settings"]["full_score"]["pairs"]
    assert (pair["unit"], pair["clusters"]) == ("student", 6)


def test_power_scales_the_error_of_a_pilot_or_of_stated_rates(data, runs, capsys):
    """Twice the videos: the error of the pilot's difference over the square root of two."""
    paths = (runs("good", 0.2), runs("weak", 0.4))
    words = ("study", "power", "--pilot", *paths, "--data", str(data), "--videos", "24", "--effect", "0.1", "--json")
    code, out, _ = run(capsys, *words)
    found = json.loads(out)
    rows = {row["metric"]: row["value"] for row in found["rows"]}
    error = st.compare(*paths, data=data).pairs[0].estimate.stderr / 2**0.5
    assert code == 0 and found["synthetic"] is False and rows["stderr"] == pytest.approx(error)
    reach = stats.t.ppf(0.975, 23)
    assert rows["smallest"] == pytest.approx((reach + stats.norm.ppf(0.8)) * error)
    assert rows["power"] == pytest.approx(stats.norm.cdf(0.1 / error - reach) + stats.norm.cdf(-0.1 / error - reach))
    code, out, err = run(capsys, "study", "power", "--videos", "100", "--metric", "mcc")
    assert (code, err) == (0, "") and out.startswith("SYNTHETIC: two simulated judges, 18.6% of the steps wrong")
    assert run(capsys, "study", "power", "--agreement", "0.1", "--effect", "0.2")[0] == 1
