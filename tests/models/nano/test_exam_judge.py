"""The judge itself: what it answers, what it does not, and that it needs nothing but messages."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest

from siming_tasks.common.errors import DataError
from siming_tasks.models.nano.exam_judge import Watcher
from siming_tasks.models.nano.frame_features import WEIGHTS, FrameReader, load
from siming_tasks.parsing import parse_reply
from siming_tasks.rubrics import default_rubric
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.prompt import build_prompt
from tests.models.nano.conftest import Messages

STEPS = default_rubric().steps


def conversation(prompt: str, frames: int = 4) -> Messages:
    rng = np.random.default_rng(frames)
    content = []
    for number in range(frames):
        picture = rng.integers(0, 255, (272, 480, 3), np.uint8)
        content += [{"type": "text", "text": f"Frame at {number}.0 s:"}, {"type": "image", "url": picture}]
    return [{"role": "user", "content": [*content, {"type": "text", "text": prompt}]}]


@pytest.mark.parametrize("name", ["full_score", "full_error", "clip_score", "clip_error"])
def test_every_setting_is_answered_in_the_form_that_its_prompt_asks_for(name: str, watcher: Watcher) -> None:
    setting = TASKS[name]
    steps = STEPS[7:8] if setting.scope == "clip" else STEPS
    (reply,) = watcher.replies([conversation(build_prompt(setting, steps))])
    parsed = parse_reply(reply, steps, setting.answer)
    assert parsed.status == "ok" and set(parsed.answers) == {step.id for step in steps}


def test_together_and_alone_are_the_same(watcher: Watcher) -> None:
    asked = [
        conversation(build_prompt(TASKS["clip_score"], STEPS[3:4]), frames=3),
        conversation(build_prompt(TASKS["full_error"], STEPS), frames=9),
        conversation(build_prompt(TASKS["clip_error"], STEPS[20:21]), frames=16),
    ]
    assert watcher.replies(asked) == [Watcher("cpu").replies([request])[0] for request in asked]


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


def test_weights_are_small_and_the_ones_that_belong_here(tmp_path: Path) -> None:
    assert WEIGHTS.stat().st_size <= 3_000_000
    _, facts, digest = load()
    assert digest in WEIGHTS.with_name("MODEL.md").read_text()
    assert dict(zip(facts.steps, facts.maxima, strict=True)) == {step.id: step.max_score for step in STEPS}
    copy = tmp_path / WEIGHTS.name
    with pytest.raises(DataError, match=r"the weights of siming_nano cannot be read\. Install siming-tasks again"):
        load(copy)
    shutil.copy(WEIGHTS.with_suffix(".sha256"), tmp_path)
    changed = bytearray(WEIGHTS.read_bytes())
    changed[-1] ^= 1
    copy.write_bytes(changed)
    with pytest.raises(DataError, match=rf"have the digest [0-9a-f]{{12}}, not {digest[:12]}"):
        FrameReader(weights=copy)


def test_features_of_other_sizes_are_nearly_the_same(watcher: Watcher, exams: Path) -> None:
    import cv2

    with av.open(str(sorted((exams / "media").glob("*.mp4"))[0])) as film:
        picture = next(film.decode(video=0)).to_ndarray(format="rgb24")
    large = cv2.resize(picture, (896, 508), interpolation=cv2.INTER_CUBIC)
    original, resized = watcher.reader.features([picture, large])
    assert np.abs(original - resized).mean() < 0.05
    assert watcher.reader.embeddings([picture]).shape == (1, 192)


ALONE = """
import json, sys
import numpy as np
from siming_tasks.models.nano.exam_judge import Watcher
given = np.load(sys.argv[1])
content = []
for time, picture in zip(given["times"], given["pictures"]):
    content += [{"type": "text", "text": f"Frame at {time:.1f} s:"}, {"type": "image", "url": picture}]
content.append({"type": "text", "text": str(given["prompt"])})
reply = Watcher("cpu").replies([[{"role": "user", "content": content}]])[0]
rooms = {name.split(".")[1] for name in sys.modules if name.startswith("siming_tasks.")}
print(json.dumps([reply, sorted(rooms)]))
"""


def test_a_process_without_a_data_set_gives_the_same_reply(tmp_path: Path, watcher: Watcher) -> None:
    """A process without a data set, in a folder of its own, answers the same and does not load the data modules."""
    rng = np.random.default_rng(5)
    prompt = build_prompt(TASKS["clip_score"], STEPS[10:11])
    times, pictures = np.arange(5.0), rng.integers(0, 255, (5, 272, 480, 3), np.uint8)
    np.savez(tmp_path / "given.npz", times=times, pictures=pictures, prompt=prompt)
    done = subprocess.run(
        [sys.executable, "-c", ALONE, "given.npz"],
        capture_output=True, text=True, check=True, cwd=tmp_path, env={"PATH": "/usr/bin:/bin"}, timeout=120,
    )  # fmt: skip
    reply, rooms = json.loads(done.stdout)
    content = [
        part
        for time, picture in zip(times, pictures, strict=True)
        for part in ({"type": "text", "text": f"Frame at {time:.1f} s:"}, {"type": "image", "url": picture})
    ]
    (here,) = watcher.replies([[{"role": "user", "content": [*content, {"type": "text", "text": prompt}]}]])
    assert reply == here
    assert not {"data", "plugin", "tools", "results", "tasks"} & set(rooms), rooms
