"""The judge itself: what it answers and what not, and that it can be trained."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from siming_tasks.benchmark.parsing import parse_reply
from siming_tasks.benchmark.rubrics import default_rubric
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.benchmark.tasks.prompt import build_prompt
from siming_tasks.common.errors import DataError
from siming_tasks.models.nano.exam_judge import WEIGHTS, Watcher, load, sight
from tests.models.nano.conftest import Messages

STEPS = default_rubric().steps


def conversation(prompt: str, frames: int = 4) -> Messages:
    rng = np.random.default_rng(frames)
    content = []
    for number in range(frames):
        picture = rng.integers(0, 255, (272, 480, 3), np.uint8)
        content += [{"type": "text", "text": f"Frame at {number}.0 s:"}, {"type": "image", "url": picture}]
    return [{"role": "user", "content": [*content, {"type": "text", "text": prompt}]}]


def test_every_setting_is_answered_in_the_form_that_its_prompt_asks_for(watcher: Watcher) -> None:
    settings = [TASKS[name] for name in ("full_score", "full_error", "clip_score", "clip_error", "full_timed_score")]
    asked = [STEPS[7:8] if setting.scope == "clip" else STEPS for setting in settings]
    spans = [(1.0, 2.0), *[None] * (len(STEPS) - 1)]
    prompts = [build_prompt(setting, steps) for setting, steps in zip(settings[:4], asked, strict=False)]
    prompts.append(build_prompt(settings[4], STEPS, spans))
    together = watcher.replies([conversation(prompt, 3 + place) for place, prompt in enumerate(prompts)])
    for place, (setting, steps, prompt) in enumerate(zip(settings, asked, prompts, strict=True)):
        parsed = parse_reply(together[place], steps, setting.answer)
        assert parsed.status == "ok" and set(parsed.answers) == {step.id for step in steps}
        assert watcher.replies([conversation(prompt, 3 + place)]) == [together[place]]  # alone as together


def test_images_come_with_their_times_or_not_at_all() -> None:
    pictures, times = sight(conversation("What is this?", 3), 64) or ([], [])
    assert len(pictures) == 3 and list(times) == pytest.approx([0, 1, 2])
    untimed = [{"role": "user", "content": [{"type": "image", "url": "picture"}, {"type": "text", "text": "?"}]}]
    for message in (conversation("What?", 0), untimed, [{"role": "user", "content": "What is this?"}]):
        assert sight(message, 64) is None


def test_unknown_steps_have_no_answer_and_are_counted(watcher: Watcher) -> None:
    prompt = build_prompt(TASKS["full_score"], STEPS[:3])
    foreign = prompt.replace("[cpr_02]", "[suture_02]").replace("(maximum 3 points)", "(maximum 7 points)")
    watcher.silent.clear()
    (reply,) = watcher.replies([conversation(foreign)])
    tops = {step.id: step.max_score for step in STEPS[:3]}
    kept = [name for name, top in tops.items() if name != "cpr_02" and top != 3]
    assert list(json.loads(reply)["scores"]) == kept and len(kept) < 3
    assert watcher.silent == {"steps it was not trained for": 3 - len(kept)}
    watcher.silent.clear()
    alone = build_prompt(TASKS["clip_error"], STEPS[:1]).replace("[cpr_01]", "[suture_01]")
    assert watcher.replies([conversation(prompt, frames=0), conversation(alone)]) == ["{}", "{}"]
    assert watcher.silent == {
        "no picture with its time": 1, "steps it was not trained for": 1, "nothing it can answer": 1
    }  # fmt: skip
    assert parse_reply("{}", STEPS[:3], "score").answers == {}


def test_a_rubric_without_a_step_that_it_knows_is_refused(watcher: Watcher) -> None:
    known = [build_prompt(TASKS["clip_error"], STEPS[place : place + 1]) for place in range(3)]
    other = [prompt.replace("[cpr_", "[suture_") for prompt in known]
    watcher.refuse_other_rubric([*other, known[0]])
    with pytest.raises(DataError, match=r"siming_nano knows none of the 3 steps of the question \(suture_01, "):
        watcher.refuse_other_rubric(other)


def test_weights_are_small_and_the_ones_that_belong_here(tmp_path: Path) -> None:
    assert WEIGHTS.stat().st_size <= 3_000_000
    _, facts, digest = load()
    assert digest in WEIGHTS.with_name("MODEL.md").read_text()
    assert facts["steps"] == {step.id: step.max_score for step in STEPS}
    copy = tmp_path / WEIGHTS.name
    with pytest.raises(DataError, match=r"the weights of siming_nano cannot be read\. Install siming-tasks again"):
        load(copy)
    shutil.copy(WEIGHTS.with_suffix(".sha256"), tmp_path)
    changed = bytearray(WEIGHTS.read_bytes())
    changed[-1] ^= 1
    copy.write_bytes(changed)
    with pytest.raises(DataError, match=rf"have the digest [0-9a-f]{{12}}, not {digest[:12]}"):
        Watcher(weights=copy)


@pytest.mark.weekly
def test_the_script_makes_weights_from_nothing(tmp_path: Path, watcher: Watcher) -> None:
    """Two batches of each network on two exams: weights that load, with the package's features, and answer."""
    script, weights = Path(__file__).parents[3] / "utils" / "train_nano.py", tmp_path / "siming_nano.safetensors"
    sizes = {"learn": 2, "held": 2, "states": 20, "encoder": 2, "judge": 2}
    options = [word for name, count in sizes.items() for word in (f"--{name}", str(count))]
    command = [sys.executable, str(script), str(tmp_path), "--weights", str(weights), *options]
    subprocess.run(command, check=True, timeout=600)
    new = Watcher("cpu", weights=weights)
    asked = conversation(build_prompt(TASKS["full_score"], STEPS))
    assert set(json.loads(new.replies([asked])[0])["scores"]) == {step.id for step in STEPS}
