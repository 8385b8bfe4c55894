"""What the drawings promise to the eye: the clock in view, bystanders who react to nothing."""

import numpy as np
import pytest

from siming_tasks.tools.simulator import simulate_labels
from siming_tasks.tools.simulator.canvas import Pen, draw_appearance
from siming_tasks.tools.simulator.choreography import CHANNELS
from siming_tasks.tools.simulator.people import at_rest
from siming_tasks.tools.simulator.scene import CLOCK, Scene
from siming_tasks.tools.simulator.video import FPS, perform

LOOKS = [draw_appearance(seed) for seed in range(200)]


@pytest.mark.parametrize("seed", range(3))
def test_no_bubble_covers_the_wall_clock(seed):
    look = draw_appearance(1000 + seed)
    scene = Scene(look, list(CHANNELS))
    x, y = Pen(scene.draw(list(CHANNELS.values()), (), 0.0), look.camera).at(CLOCK)
    rows, columns = np.mgrid[:272, :480]
    clock = np.hypot(rows - y, columns - x) < 16.5 * min(1.0, np.hypot(*look.camera[:, 0]))
    assert clock.sum() > 100  # pixels
    played = perform(simulate_labels(seed + 1, 3)[seed].plan, seed=seed)
    table = played.sample(FPS)
    for word in {(word.who, word.text): word for word in played.utterances}.values():
        row = table[int(word.start * FPS)].tolist()
        heard = scene.draw(row, ((word.who, word.text),), word.start)
        silent = scene.draw(row, (), word.start)
        assert (heard != silent).any() and np.array_equal(heard[clock], silent[clock]), word.text


def test_bystanders_move_by_the_clock_alone():
    times, busy = np.arange(0, 60, 0.5), {"p_depth": 5, "a_mode": 3, "me_gx": -1, "p_cloth": 1}
    for look in LOOKS[:12]:
        calm, wild = (
            [at_rest({**CHANNELS, "by_seen": 1, **more}, "by", look, time) for time in times] for more in ({}, busy)
        )
        assert all(one[n] == two[n] for n in CHANNELS if n[:3] == "by_" for one, two in zip(calm, wild, strict=True))
        assert all(np.ptp([one[name] for one in calm]) > 0.3 for name in ("by_lean", "by_bow", "by_gx"))
