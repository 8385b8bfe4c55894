"""What the drawings promise to the eye: colours, the clock in view, the arm after undressing, bystanders."""

import colorsys

import numpy as np
import pytest

from siming_tasks.tools.simulator import simulate_labels
from siming_tasks.tools.simulator.canvas import Pen, draw_appearance
from siming_tasks.tools.simulator.choreography import CHANNELS
from siming_tasks.tools.simulator.people import at_rest
from siming_tasks.tools.simulator.scene import CLOCK, Scene
from siming_tasks.tools.simulator.trainee import with_consequences
from siming_tasks.tools.simulator.video import FPS, perform

LOOKS = [draw_appearance(seed) for seed in range(200)]
REST = list(CHANNELS.values())


def state(**changed):
    return {**CHANNELS, **changed}


def drawn(look, said=(), time=0.25, **changed):
    return Scene(look, list(CHANNELS)).draw(list(state(**changed).values()), said, time)


def like_skin(bgr):
    """Hue from pink over orange to ochre, neither grey nor glaring, not nearly black: what human skin is."""
    blue, green, red = (part / 255 for part in bgr)
    hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
    return (hue < 50 / 360 or hue > 350 / 360) and 0.15 < saturation < 0.70 and value > 0.3


def test_nobody_wears_skin_and_no_floor_has_its_colour():
    assert all(like_skin(look.skin) and like_skin(look.trainee.skin) for look in LOOKS)
    for look in LOOKS:
        worn = {look.shirt, look.trousers}
        for person in (look.trainee, look.aide, look.bystander):
            worn |= {person.top, person.legs, person.cap, person.mask}
        assert not [color for color in (*worn, look.floor, look.wall) if like_skin(color)]


def test_overlapping_things_differ_in_colour():
    def far(one, other):
        return np.abs(np.subtract(one, other)).max()

    for look in LOOKS:
        lit = [tuple(np.multiply(color, look.light)) for color in (look.floor, look.wall)]
        people = (look.trainee, look.aide, look.bystander)
        assert min(far(person.skin, look.skin) for person in people) >= 28  # hands on the chest
        assert min(far(person.top, color) for person in people for color in lit) >= 25
        assert min(far(color, lit[0]) for color in (look.skin, look.shirt, look.trousers)) >= 25
        assert len({person.top for person in people}) == 3


@pytest.mark.parametrize("seed", range(6))
def test_no_bubble_covers_the_wall_clock(seed):
    exams = [simulate_labels(seed + 1, 3)[seed].plan, with_consequences("aed_01.bad_placement")]
    look = draw_appearance(1000 + seed)
    scene = Scene(look, list(CHANNELS))
    x, y = Pen(scene.draw(REST, (), 0.0), look.camera).at(CLOCK)
    rows, columns = np.mgrid[:272, :480]
    clock = np.hypot(rows - y, columns - x) < 16.5 * min(1.0, np.hypot(*look.camera[:, 0]))
    assert clock.sum() > 100  # pixels
    for plan in exams:
        played = perform(plan, seed=seed)
        table = played.sample(FPS)
        assert played.utterances
        for word in {(word.who, word.text): word for word in played.utterances}.values():
            row = table[int(word.start * FPS)].tolist()
            heard = scene.draw(row, ((word.who, word.text),), word.start)
            silent = scene.draw(row, (), word.start)
            assert (heard != silent).any(), word.text
            assert np.array_equal(heard[clock], silent[clock]), word.text


def test_the_arm_is_bare_once_the_shirt_is_off_and_sleeved_before():
    for look in LOOKS[:20]:
        for cloth, color in ((0.0, look.shirt), (0.5, look.shirt), (1.0, look.skin)):
            image = drawn(look, p_cloth=cloth, p_twist=0)
            x, y = Pen(image, look.camera).at((316, 222.5))
            assert np.abs(image[round(y), round(x)].astype(int) - color).max() <= 3
        x, y = Pen(image, look.camera).at((342, 215))  # the shirt lies beside
        assert np.abs(image[round(y), round(x)] - np.multiply(look.shirt, 0.9)).max() <= 3


def test_bystanders_move_by_the_clock_alone():
    times = np.arange(0, 60, 0.5)
    for look in LOOKS[:12]:
        calm = [at_rest(state(by_seen=1), "by", look, time) for time in times]
        wild = [at_rest(state(by_seen=1, p_depth=5, a_mode=3, me_gx=-1, p_cloth=1), "by", look, time) for time in times]
        for name in CHANNELS:
            if name.startswith("by_"):
                assert [one[name] for one in calm] == [one[name] for one in wild]
        for name in ("by_lean", "by_bow", "by_gx"):
            assert np.ptp([one[name] for one in calm]) > 0.3
    assert {look.pastime for look in LOOKS} == {"clipboard", "folded", "hips"}
    for changed in ({"aide_crouch": 1}, {"aide_lean": 22, "aide_bow": 46}, {"aide_seen": 0}):  # who acts is not moved
        before = state(**({"aide_seen": 1} | changed))
        assert at_rest(before, "aide", LOOKS[0], 3.0) == before
