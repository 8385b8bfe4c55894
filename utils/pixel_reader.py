"""Proof that the labels are in the pixels: plant errors, encode, decode, and read them back without learning.

    python utils/pixel_reader.py [--first-look 4000] [--looks 2] [--jobs 2] [--json FILE] [--quick]

Table 1: the share of planted errors of a named set that are read back from the encoded video at 10 frames/s, and the
false alarms on steps performed well. Table 2: on history minimal_pairs the same reader with the whole video applies the
rubric's requirements to what it read earlier; with single clips it cannot tell the minimal_pairs apart, as it must.
Everything printed is about SYNTHETIC videos.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import av
import numpy as np
from pixel_camera import rectify
from pixel_rules import RULES
from scipy.stats import binomtest

from siming_tasks.rubrics import default_rubric
from siming_tasks.tools.simulator.minimal_pairs import HISTORY, simulate_pairs
from siming_tasks.tools.simulator.simulated_exam import compute_true_scores
from siming_tasks.tools.simulator.trainee import ENTAILS, TraineeErrors, with_consequences
from siming_tasks.tools.simulator.video import FPS, encode, frames, perform


def read_video(path: Path, spans: Mapping[str, tuple[float, float]]) -> dict[str, set[str]]:
    """Errors of the named set read in each step, every step from its clip alone."""
    with av.open(str(path)) as file:
        images = np.stack([np.asarray(frame.to_ndarray(format="bgr24"), np.uint8) for frame in file.decode(video=0)])
    read: dict[str, set[str]] = {}
    for span in sorted(set(spans.values())):
        start, end = (round(time * FPS) for time in span)
        clip = rectify(images[start:end])
        read |= {step: rule(clip) for step, (rule, _) in RULES.items() if spans.get(step) == span}
    return {step: read[step] for step in RULES if step in read}


def plans() -> list[TraineeErrors]:
    """A perfect exam and exams that together plant every error of the named set, as few as can be."""
    rubric = default_rubric()
    left = [f"{step}.{name}" for step, (_, names) in RULES.items() for name in sorted(names)]
    made = [with_consequences(rubric, {})]
    while left:
        chosen: dict[str, tuple[str, ...]] = {}
        for error in list(left):
            step = error.partition(".")[0]
            alone = error in ENTAILS or error == "aed_01.bad_placement"  # leaves later steps nothing to show
            if step not in chosen and not (alone and chosen):
                chosen[step] = (error,)
                left.remove(error)
                if alone:
                    break
        made.append(with_consequences(rubric, chosen))
    return made


def try_plan(job: tuple[TraineeErrors, int]) -> list[tuple[str, set[str], set[str]]]:
    """(step, planted, read) of one encoded exam, within the named set."""
    plan, look = job
    played = perform(plan, fps=FPS, seed=look)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "exam.mp4"
        encode(path, frames(played, look), fps=FPS)
        read = read_video(path, played.spans)
    planted = {step: {error.partition(".")[2] for error in plan.errors[step]} for step in read}
    return [(step, planted[step] & RULES[step][1], read[step] & RULES[step][1]) for step in read]


def errors_table(looks: range, pool: Executor, quick: bool = False) -> dict[str, Any]:
    """Recovered and false alarms per step over all plans and looks; ``quick``: only the plan with the most errors."""
    chosen = [max(plans(), key=lambda plan: sum(map(len, plan.errors.values())))] if quick else plans()
    jobs = [(plan, look) for look in looks for plan in chosen]
    hit, total, alarm, clean = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    missed: Counter[str] = Counter()
    for outcome in pool.map(try_plan, jobs):
        for step, planted, read in outcome:
            for error in planted:
                total[step] += 1
                hit[step] += error in read
                if error not in read:
                    missed[f"{step}.{error} read as {sorted(read)}"] += 1
            if not planted:
                clean[step] += 1
                alarm[step] += bool(read)
                if read:
                    missed[f"{step} well done, read as {sorted(read)}"] += 1
    return {"videos": len(jobs), "hit": hit, "total": total, "alarm": alarm, "clean": clean, "missed": missed}


def try_pair(job: tuple[int, int]) -> tuple[str, bool, bool] | None:
    """(recipe, whole-video reader right, clip reader right) for one history pair; None if the act is not read."""
    index, seed = job
    rubric = default_rubric()
    minimal_pairs = simulate_pairs(index + 1, seed)[index]
    known = {f"{step}.{name}" for step, (_, names) in RULES.items() for name in names}
    if not known.issuperset(minimal_pairs.changed):
        return None
    slots = minimal_pairs.slots(short=False)
    steps = {error.rpartition(".")[0] for error in minimal_pairs.changed} | {minimal_pairs.step_id}
    truth, whole, clip = [], [], []
    for exam in minimal_pairs.exams:
        played = perform(exam.plan, fps=FPS, seed=exam.look, slots=slots)
        begin, end = (choose(played.spans[step][side] for step in steps) for side, choose in ((0, min), (1, max)))
        with tempfile.TemporaryDirectory() as folder:  # from the changed act to the step, not the whole exam
            path = Path(folder) / "part.mp4"
            encode(path, frames(played, exam.look, round(begin * FPS), round(end * FPS)), fps=FPS)
            read = read_video(path, {s: (played.spans[s][0] - begin, played.spans[s][1] - begin) for s in steps})
        errors = {step: tuple(sorted(names)) for step, names in read.items()}
        truth.append(exam.truth[minimal_pairs.step_id].points)
        whole.append(compute_true_scores(rubric, errors)[minimal_pairs.step_id].points)
        clip.append(
            compute_true_scores(rubric, {minimal_pairs.step_id: errors.get(minimal_pairs.step_id, ())})[
                minimal_pairs.step_id
            ].points
        )
    way = np.sign(truth[1] - truth[0])
    recipe = _recipe(minimal_pairs.step_id, minimal_pairs.changed)
    return recipe, bool(np.sign(whole[1] - whole[0]) == way), bool(np.sign(clip[1] - clip[0]) == way)


def _recipe(step: str, changed: Sequence[str]) -> str:
    return f"{step} after {', '.join(changed)}"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first-look", type=int, default=4000, help="seed of the first look")
    parser.add_argument("--looks", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true", help="one exam with many errors per look, no minimal_pairs")
    options = parser.parse_args()
    looks = range(options.first_look, options.first_look + options.looks)
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        table = errors_table(looks, pool, options.quick)
        jobs = [] if options.quick else [(2 * recipe, look) for recipe in range(len(HISTORY)) for look in looks]
        pairs = [result for result in pool.map(try_pair, jobs) if result]
    summary = print_errors(table)
    if not options.quick:
        print_pairs(pairs)
    if options.json:
        options.json.write_text(json.dumps({**summary, "pairs": pairs}))


def print_errors(table: Mapping[str, Any]) -> dict[str, float]:
    """Table 1; returns its last line."""
    hit, total, alarm, clean = (table[name] for name in ("hit", "total", "alarm", "clean"))
    print(f"SYNTHETIC. {table['videos']} encoded exams, {FPS} frames/s.\n")
    print("| step | errors | recovered | false alarms |\n|---|---|---|---|")
    for step, (_, names) in RULES.items():
        print(f"| {step} | {', '.join(sorted(names))} | {hit[step]} / {total[step]} | {alarm[step]} / {clean[step]} |")
    ends = binomtest(sum(hit.values()), sum(total.values())).proportion_ci(method="wilson")
    recovered, wrong = sum(hit.values()) / sum(total.values()), sum(alarm.values()) / max(sum(clean.values()), 1)
    print(
        f"| all | | {sum(hit.values())} / {sum(total.values())} = {recovered:.1%} (95 % Wilson {ends.low:.1%} to "
        f"{ends.high:.1%}) | {sum(alarm.values())} / {sum(clean.values())} = {wrong:.1%} |\n"
    )
    for what, number in table["missed"].most_common():
        print(f"  {number} x {what}")
    return {"recovered": recovered, "false_alarms": wrong, "n": sum(total.values())}


def print_pairs(pairs: Sequence[tuple[str, bool, bool]]) -> None:
    """Table 2."""
    print("\n| history pairs | whole video | clip only |\n|---|---|---|")
    for recipe in (_recipe(step, changed) for step, changed in HISTORY):
        mine = [result for result in pairs if result[0] == recipe]
        if mine:
            print(f"| {recipe} | {sum(r[1] for r in mine)} / {len(mine)} | {sum(r[2] for r in mine)} / {len(mine)} |")
        else:
            print(f"| {recipe} | not in the named set | |")


if __name__ == "__main__":
    main()
