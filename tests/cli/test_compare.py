"""``siming compare`` and ``siming study raters`` on a small synthetic data set, as a user runs them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
import pytest

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


def test_compare_prints_everything(data, runs, capsys):
    code, out, err = run(capsys, "compare", runs("good", 0.2), runs("weak", 0.8), "--data", str(data))
    assert (code, err) == (0, "")
    assert out.startswith("**full_score: good (") and "agrees better with the reference than weak" in out.split("\n")[0]
    assert "\n\n## full_score on tiny 1, SYNTHETIC data\n\n|" in out and "\n\n2 runs over the same 12 videos" in out
    for part in (
        "*physicians against each other*",
        "*no-video baselines*",
        "**Fewer than 50 videos: the interval is not to be trusted.**",
        "| kappa (qwk) | good | weak |",
        "| no-video baseline |",
        "| shuffled-self |",
        "| human ratio |",
        "mean(metric(run, rater_a), metric(run, rater_b)) / metric(rater_a, rater_b)",
    ):
        assert part in out
    assert "nan" not in out.lower()


def test_compare_json_holds_the_same(data, runs, capsys):
    options = ("--data", str(data), "--json", "--against", "b")
    code, out, _ = run(capsys, "compare", f"a={runs('good', 0.2)}", f"b={runs('weak', 0.8)}", *options)
    found = json.loads(out, parse_constant=pytest.fail)
    assert code == 0
    assert found["synthetic"] is True
    part = found["settings"]["full_score"]
    assert part["comparison"]["runs"] == ["a", "b"]
    assert part["comparison"]["options"]["resamples"] == 60
    assert part["contribution"]["a"]["lift"]["qwk"]["over"]
    assert part["human_ratio"]["b"]["qwk"]["value"] > 0


def test_a_setting_that_cannot_be_compared_does_not_stop_the_others(data, runs, capsys, tmp_path):
    pairs = []
    for name, noise, media in (("good", 0.2, "video"), ("weaker", 0.8, "frames")):
        scores = Path(runs(name, noise)).read_text()
        verdicts = Path(runs(name, noise, answer="error", media=media)).read_text()
        pairs.append(tmp_path / f"{name}-both.jsonl")
        pairs[-1].write_text(scores + verdicts)
    paths = list(map(str, pairs))
    code, out, _ = run(capsys, "compare", *paths, "--data", str(data))
    assert code == 0
    assert "| kappa (qwk) | good-both | weaker-both |" in out
    why = "Not compared: Runs 'good-both' and 'weaker-both' differ in media"
    assert f"## full_error on tiny 1, SYNTHETIC data\n\n{why}" in out
    code, out, _ = run(capsys, "compare", *paths, "--data", str(data), "--json")
    found = json.loads(out)
    assert list(found["settings"]) == ["full_score"] and list(found["not_compared"]) == ["full_error"]


def test_repeated_runs_split_their_variance(data, runs, capsys):
    paths = (runs("good", 0.2), runs("better", 0.2))
    code, out, _ = run(capsys, "compare", *paths, "--data", str(data), "--repeated")
    assert code == 0
    assert out.startswith("## full_score on tiny 1, SYNTHETIC data, 2 repeats\n\n| metric | each run | mean |")
    code, out, _ = run(capsys, "compare", *paths, "--data", str(data), "--repeated", "--json")
    part = json.loads(out)["repeated"]["full_score"]["qwk"]
    assert part["decoding_sd"] == pytest.approx(np.std(part["values"], ddof=1))


def test_verdicts_are_compared(data, runs, capsys):
    paths = (runs("good", 0.2, answer="error"), runs("weak", 0.8, answer="error"))
    code, out, _ = run(capsys, "compare", *paths, "--data", str(data))
    assert code == 0
    assert "| MCC | good | weak |" in out


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
    code, out, _ = run(
        capsys, "compare", *paths, "--data", str(data), "--partial", "--allow", "media", "--allow", "videos"
    )
    assert code == 0
    assert "2 runs over the same 9 videos" in out
    assert "**Differences between the runs that were allowed: media, videos.**" in out


def test_one_run_is_no_comparison(data, runs, capsys):
    message = "siming compare: A comparison needs at least two runs; 1 given.\n"
    assert run(capsys, "compare", runs("good", 0.2), "--data", str(data)) == (1, "", message)


def test_runs_that_share_one_video_are_refused(data, runs, capsys):
    paths = (runs("good", 0.2, videos=1), runs("weak", 0.8, videos=1))
    message = "The runs share a single video; videos are the unit of comparison, so at least two are needed."
    assert run(capsys, "compare", *paths, "--data", str(data), "--partial") == (1, "", f"siming compare: {message}\n")


def test_an_empty_run_is_refused(data, runs, capsys, tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    code, out, err = run(capsys, "compare", runs("good", 0.2), str(tmp_path / "empty.jsonl"), "--data", str(data))
    assert (code, out) == (1, "")
    assert "empty.jsonl: no line holds a prediction; the file is empty." in err


def test_study_raters_prints_agreement_and_json(data, capsys):
    code, out, err = run(capsys, "study", "raters", str(data))
    assert (code, err) == (0, "")
    assert out.startswith("## Raters of tiny 1, SYNTHETIC data\n\nrater_b against rater_a, before adjudication.\n")
    agreement, _, totals = out.partition("\n### Totals\n")
    assert agreement.count("\n| cpr_") == 19 and "ICC(A,1)" in totals
    assert "| aed |" in out
    found = json.loads(run(capsys, "study", "raters", "--data", str(data), "--json")[1], parse_constant=pytest.fail)
    assert found["inflation"]["rater_a"]["qwk"]["n_videos"] == VIDEOS


def test_raters_are_chosen_by_name_and_unknown_ones_refused(data, capsys):
    assert (
        "consensus against rater_b" in run(capsys, "study", "raters", str(data), "--raters", "rater_b", "consensus")[1]
    )
    message = "siming study raters: tiny has no rater 'x'; it has consensus, rater_a, rater_b.\n"
    assert run(capsys, "study", "raters", str(data), "--raters", "x", "rater_a") == (1, "", message)


def test_no_human_ceiling_with_the_consensus_alone(folder, data, runs, capsys):
    alone = folder("consensus")
    code, out, err = run(capsys, "study", "raters", str(alone))
    assert (code, out) == (1, "")
    assert err == (
        "siming study raters: The human ceiling cannot be computed: it needs the labels of two raters before "
        "adjudication; "
        "this data set has those of consensus. A rater's agreement with the consensus would be inflated and is no "
        "substitute.\n"
    )
    code, out, _ = run(capsys, "compare", runs("good", 0.2), runs("weak", 0.8), "--data", str(alone))
    assert code == 0
    assert out.rstrip().endswith("would be inflated and is no substitute.")


@pytest.mark.parametrize("unit", ["video", "student", "site"])
def test_the_unit_that_is_named_is_resampled(data, runs, capsys, tmp_path, unit):
    """What ``--cluster`` names reaches the intervals, and a unit that no video states is refused as in the score."""
    root = tmp_path / "grouped"
    shutil.copytree(data, root)
    rows = [json.loads(line) for line in (root / "videos.jsonl").read_text().splitlines()]
    rows = [{**row, "student": f"s{n // 2}", "site": f"h{n % 5}"} for n, row in enumerate(rows)]
    rows = [{**row, "site": f"h{n // 2 % 5}"} for n, row in enumerate(rows)]
    (root / "videos.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["--data", str(root), "--setting", "full_score", "--json"]
    paths = [runs("good", 0.1), runs("weaker", 0.6)]
    assert main(["compare", *paths, *words, "--cluster", unit]) == 0
    options = json.loads(capsys.readouterr().out)["settings"]["full_score"]["comparison"]["options"]
    assert (options["unit"], options["n_clusters"]) == (unit, {"video": 12, "student": 6, "site": 5}[unit])
    assert main(["compare", *paths, *words, "--cluster", "performance"]) == 1
    assert "no video states a performance" in capsys.readouterr().err
