"""Table of siming_nano on fresh simulated exams: ``python utils/nano_table.py WORK [--exams 200] [--pairs 40]``.

Exams of seeds that neither training, demo nor tests use are drawn (JPEG, no video codec), read by the frozen encoder of
the package and judged by its judge: the table of the settings with the no-video baselines, broken inputs, history
pairs, and each step beside what the rubric says about its evidence. Every number is SYNTHETIC.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from nano_data import SEEDS, USUAL, all_shown, run_files
from nano_exams import RUBRIC, STEPS, case
from nano_fit_encoder import read_exams
from nano_minimal_pairs import draw_minimal_pairs, pair_result

from siming_tasks.analysis.comparison import compare_scores
from siming_tasks.media import observable_steps
from siming_tasks.metrics import ScoreMatrix, evaluate
from siming_tasks.metrics.alignment import ComparisonEntry
from siming_tasks.metrics.no_video_baselines import clock, step_prior
from siming_tasks.metrics.timing import Timing
from siming_tasks.models.nano.exam_judge import Watcher
from siming_tasks.models.nano.frame_features import WEIGHTS

TOP = np.array([step.max_score for step in RUBRIC.steps])
VIEWS = {"clips, 16 frames": None, "full, 64 frames": 64, "full, 240 frames": 240}
Exams = dict[str, np.ndarray]


def make(work: Path, exams: int, jobs: int) -> None:
    """Draw the exams, eight to a file."""
    run_files([(all_shown, work / f"table-{n:05d}.npz", min(8, exams - n)) for n in range(0, exams, 8)], jobs, "Exams")


def read(work: Path, watcher: Watcher, name: str) -> Exams:
    """Readings of the package's encoder in the drawn exams of this name."""
    for path in sorted(work.glob(f"{name}-*.npz")):
        out = work / f"read-{path.name}"
        if not out.exists():
            with np.load(path) as stored:
                record = {key: stored[key] for key in stored.files if key not in ("jpeg", "ends")}
            record |= read_exams(watcher.reader.net, path, record, wholes=True)
            np.savez(work / f".{out.name}", **record)
            (work / f".{out.name}").replace(out)
    return kept(work, name)


def kept(work: Path, name: str) -> Exams:
    """Readings that :func:`read` has kept."""
    parts = [dict(np.load(path)) for path in sorted(work.glob(f"read-{name}-*.npz"))]
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def judged(watcher: Watcher, exams: Exams, frames: int | None, spoil: Callable[..., tuple] | None = None) -> np.ndarray:
    """Probabilities of points, shape (exams, steps, most + 1); ``spoil`` changes features and times first."""
    chances = []
    rng = np.random.default_rng(0)
    for number in range(len(exams["points"])):
        shown = []
        if frames is None:
            for step in range(len(STEPS)):
                n = exams["lengths"][number, step]
                shown.append((step, exams["read_clips"][number, step, :n], exams["clip_times"][number, step, :n]))
        else:
            pick = np.linspace(0, 239, frames, dtype=int)
            shown.append((None, exams["read_whole"][number, pick], exams["times"][number, pick]))
        if spoil:
            shown = [(step, *spoil(exams, number, step, seen, times, rng)) for step, seen, times in shown]
        chances.append(_chances(watcher, [(seen, times) for _, seen, times in shown]))
    return np.stack(chances)


def _chances(watcher: Watcher, shown: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Probabilities for one exam: from all its clips, or from the one whole."""
    clip, longest = len(shown) > 1, max(len(times) for _, times in shown)
    features = np.zeros((len(shown), longest, shown[0][0].shape[-1]), np.float32)
    times, missing = np.zeros((len(shown), longest), np.float32), np.ones((len(shown), longest), bool)
    for row, (seen, when) in enumerate(shown):
        features[row, : len(when)], missing[row, : len(when)] = seen, False
        times[row] = np.pad(when, (0, longest - len(when)), mode="edge")
    asked = torch.arange(len(STEPS)).reshape((-1, 1) if clip else (1, -1))
    tensors = [torch.from_numpy(array) for array in (features, times, missing)]
    with torch.inference_mode():
        logits = watcher.net(*tensors, asked, torch.full((len(shown),), int(clip)))
    beyond = torch.arange(logits.shape[-1]) > torch.from_numpy(TOP)[asked].unsqueeze(-1)
    return torch.softmax(logits.masked_fill(beyond, -1e4), -1).reshape(len(STEPS), -1).numpy()


def _foreign(exams: Exams, number: int, step: int | None, seen: np.ndarray, times: np.ndarray, _: object) -> tuple:
    other = (number + 1) % len(exams["points"])
    if step is None:
        pick = np.linspace(0, 239, len(seen), dtype=int)
        return exams["read_whole"][other, pick], exams["times"][other, pick]
    n = exams["lengths"][other, step]
    return exams["read_clips"][other, step, :n], exams["clip_times"][other, step, :n]


def _foreign_in_own_times(
    exams: Exams, number: int, step: int | None, seen: np.ndarray, times: np.ndarray, rng: np.random.Generator
) -> tuple:
    """As many frames of the other exam, at the times of this one's: its clock is right, its picture is not."""
    other = _foreign(exams, number, step, seen, times, rng)[0]
    return other[np.linspace(0, len(other) - 1, len(seen)).round().astype(int)], times


def _neutral_times(_: Exams, __: int, ___: object, seen: np.ndarray, times: np.ndarray, ____: object) -> tuple:
    """The own frames, one in a second."""
    return seen, np.arange(len(times), dtype=times.dtype)


def _frozen(_: Exams, __: int, ___: object, seen: np.ndarray, times: np.ndarray, ____: object) -> tuple:
    return np.repeat(seen[:1], len(seen), 0), times


def _shuffled(_: Exams, __: int, ___: object, seen: np.ndarray, times: np.ndarray, rng: np.random.Generator) -> tuple:
    return rng.permutation(seen), times


SPOILT = {
    "mismatched video": _foreign,
    "mismatched video, own times": _foreign_in_own_times,
    "own video, neutral times": _neutral_times,
    "frozen frames": _frozen,
    "shuffled frames": _shuffled,
}


def said(watcher: Watcher, chances: np.ndarray, answer: str) -> np.ndarray:
    """Answers as the metrics want them: points, or 1.0 for incorrect."""
    if answer == "score":
        return chances.argmax(-1).astype(float)
    full = np.take_along_axis(chances, np.tile(TOP.astype(int), (len(chances), 1))[..., None], 2)[..., 0]
    return (1 - full > watcher.facts.threshold).astype(float)


def build_score_matrix(points: np.ndarray, predicted: np.ndarray, answer: str) -> ScoreMatrix:
    """Reference and answers of all exams."""
    names = tuple(f"exam{number:03d}" for number in range(len(points)))
    skills = tuple(skill.id for skill in RUBRIC.skills for _ in skill.steps)
    return ScoreMatrix(names, STEPS, skills, TOP, points.astype(float), predicted, np.ones(points.shape, bool), answer)


def timing(exams: int, spans_shown: bool) -> Timing:
    """Times of the steps of the table's exams, for the baseline that knows nothing else."""
    played = [case(SEEDS["table"], number, USUAL).played for number in range(exams)]
    spans = np.array([[exam.spans[step] for step in STEPS] for exam in played])
    return Timing(np.array([exam.duration for exam in played]), spans if spans_shown else np.full_like(spans, np.nan))


def main() -> None:
    """Draw, read, judge, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--exams", type=int, default=200)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--weights", type=Path, default=WEIGHTS)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    make(options.work, options.exams, options.jobs)
    draw_minimal_pairs(options.work, options.pairs, options.jobs)
    torch.set_num_threads(options.threads)
    watcher = Watcher(weights=options.weights)
    exams = read(options.work, watcher, "table")
    points, rng = exams["points"], np.random.default_rng(1)
    print(f"SYNTHETIC. {len(points)} drawn exams, looks of their own; 95 % intervals: cluster bootstrap over exams.\n")
    print("| shown | judge | MCC | kappa | PLCC | Holm p, MCC | Holm p, kappa |\n|---|---|---|---|---|---|---|")
    steps: dict[str, dict[str, float]] = {}
    for view, frames in VIEWS.items():
        chances = {"siming_nano": judged(watcher, exams, frames)}
        chances |= {name: judged(watcher, exams, frames, spoil) for name, spoil in SPOILT.items()}
        panels = {
            (name, answer): build_score_matrix(points, said(watcher, chance, answer), answer)
            for name, chance in chances.items()
            for answer in ("score", "error")
        }
        for answer in ("score", "error"):
            nano = panels["siming_nano", answer]
            panels["step prior", answer] = step_prior(nano)
            if watch := clock(replace(nano, timing=timing(len(points), spans_shown=frames is None))):
                panels["clock", answer] = watch
            top = TOP if answer == "score" else np.ones(len(STEPS))
            panels["random", answer] = nano.predicting(np.floor(rng.random(points.shape) * (top + 1)))
        _rows(view, panels)
        steps[view] = _by_step(panels["siming_nano", "error"])
    _step_table(steps)
    _pair_table(watcher, read(options.work, watcher, "minimal_pairs"))


def _rows(view: str, panels: dict[tuple[str, str], ScoreMatrix]) -> None:
    metrics = {key: evaluate(panel, resamples=2000).metrics for key, panel in panels.items()}
    p: dict[tuple[str, str], float] = {}
    for answer, metric in (("error", "mcc"), ("score", "qwk")):
        names = ("siming_nano", "step prior", "random", "clock")
        runs = [ComparisonEntry(name, panels[name, answer]) for name in names if (name, answer) in panels]
        for row in compare_scores(runs, against="siming_nano", resamples=2000).differences:
            if row.metric == metric and row.p_holm is not None:
                p[(row.b if row.a == "siming_nano" else row.a), metric] = row.p_holm
    for name in dict.fromkeys(name for name, _ in panels):
        error, score = metrics[name, "error"], metrics[name, "score"]
        cells = [_cell(error["mcc"]), _cell(score["qwk"]), _cell(score["plcc"])]
        p_values = [f"{p[name, metric]:.2g}" if (name, metric) in p else "" for metric in ("mcc", "qwk")]
        print("| " + " | ".join([view, name, *cells, *p_values]) + " |")


def _cell(estimate: object) -> str:
    value, low, high = (getattr(estimate, name) for name in ("value", "low", "high"))
    return f"{value:.3f}" + (f" [{low:.3f}, {high:.3f}]" if low is not None else "")


def _pair_table(watcher: Watcher, exams: Exams) -> None:
    names = (
        "pairs",
        "shown",
        "answer",
        "right",
        "moved the right way",
        "strays elsewhere",
        "bound of a clip-only judge",
    )
    print("\n| " + " | ".join(names) + " |\n|" + "---|" * len(names))
    for view, frames in VIEWS.items():
        chances = judged(watcher, exams, frames)
        for answer in ("score", "error"):
            answers = said(watcher, chances, answer)
            for kind in ("all", "history", "local"):
                result = pair_result(answers, answer, kind)
                cells = [
                    _cell(result.right),
                    _cell(result.moved),
                    f"{result.elsewhere.value:.3f}",
                    f"{result.bound:.2f}",
                ]
                print("| " + " | ".join([kind, view, answer, *cells]) + " |")


def _by_step(panel: ScoreMatrix) -> dict[str, float]:
    truth, predicted = panel.reference_wrong, panel.predicted_wrong
    with np.errstate(invalid="ignore"):
        return {
            step: float(np.corrcoef(truth[:, i], predicted[:, i])[0, 1])
            if predicted[:, i].any() and truth[:, i].any()
            else 0.0
            for i, step in enumerate(STEPS)
        }


def _step_table(steps: dict[str, dict[str, float]]) -> None:
    heard = {64: observable_steps(RUBRIC, 64 / 240, True), 240: observable_steps(RUBRIC, 240 / 240, True)}
    print("\n| step | evidence | shown at 64 | shown at 240 | " + " | ".join(f"MCC, {view}" for view in steps) + " |")
    print("|---|---|---|---|" + "---|" * len(steps))
    for step in RUBRIC.steps:
        seen = ["yes" if step.id in heard[frames] else "no" for frames in (64, 240)]
        values = [f"{by_step[step.id]:.2f}" for by_step in steps.values()]
        evidence = f"{step.evidence.channel}, {step.evidence.min_fps:g}/s"
        print("| " + " | ".join([f"{step.id} {step.name}", evidence, *seen, *values]) + " |")


if __name__ == "__main__":
    main()
