"""The 33 steps: done right, done wrong, and for how long. The table that the simulator performs.

Of the rubric's named errors those are here that can be told from the picture or the sound of a compressed video of
480 x 272 pixels. What a row says is what is drawn (:mod:`cpr`, :mod:`aed`, :mod:`bag_mask`); words in quotation marks
are speech bubbles, and those of the device are heard as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Step:
    """A row of the table.

    Attributes:
        seconds: least length of the step's span; 0 where the step is judged on another step's span.
        right: what is seen and heard of it when it is done well.
        errors: by name the points that the error costs in the rubric, and what is seen and heard of it.
    """

    seconds: float
    right: str
    errors: Mapping[str, tuple[float, str]]


STEPS: Mapping[str, Step] = {
    "cpr_01": Step(4.5, "Looks left, up, right and down; 'The scene is safe.', both hands held out.", {
        "no_look_around": (1, "the head does not turn"),
        "no_safe_signal": (1, "no words, no hands held out"),
        "omitted": (2, "stands still"),
    }),
    "cpr_02": Step(5.2, "Kneels, taps both shoulders, calls into each ear: 'HELLO! CAN YOU HEAR ME?', 'WAKE UP!'.", {
        "weak_call": (1, "sits up and says 'hello'"),
        "tap_or_call_missing": (2, "taps and does not call"),
        "omitted": (3, "kneels and does nothing"),
    }),
    "cpr_03": Step(3.4, "'HELP!', points at a helper: 'You there: call 120, get the AED!', who goes.", {
        "nobody_designated": (1, "points at nobody: 'Somebody, call 120, get the AED!'; nobody answers or goes"),
        "phone_or_aed_missing": (1, "'You there: call 120!', and no word of the AED"),
        "shout_only": (2, "'HELP!' twice, and nothing else"),
        "omitted": (3, "no word"),
    }),
    "cpr_04": Step(11.9, "Bends low over the face and watches the chest for six seconds; 'Not breathing.'.", {
        "no_view_of_chest": (1, "bends less and looks away from the chest"),
        "timing": (1, "two seconds, or over ten"),
        "omitted": (2, "does not bend"),
    }),
    "cpr_05": Step(11.9, "Two fingers on the neck for six seconds, counted from '1001'; 'No pulse!'.", {
        "timing": (1, "two seconds, or over ten"),
        "no_result_stated": (1, "neither counts nor says the result"),
        "wrong_site": (2, "fingers on the jaw"),
        "omitted": (3, "no hand at the neck"),
    }),
    "cpr_06": Step(2.2, "Straightens the legs, holding hip and neck, and takes the pillow away.", {
        "soft_surface": (1, "the patient lies on a mattress all the time"),
        "misaligned": (1, "legs stay bent, the pillow stays"),
        "omitted": (2, "touches nothing; legs and pillow stay as they are"),
    }),
    "cpr_07": Step(1.3, "Opens the shirt: a strip of skin.", {"omitted": (1, "the shirt stays buttoned")}),
    "cpr_08": Step(1.3, "Kneels close to the chest.", {"omitted": (1, "kneels at the hips and has to reach over")}),
    "cpr_09": Step(0, "Feels along the rib edge and puts the hands on the lower half of the breastbone.", {
        "wrong_zone": (3, "hands towards the neck, or on the belly"),
        "omitted": (4, "kneels and does not compress; so in all of the next five steps"),
    }),
    "cpr_10": Step(0, "One hand on the other, arms straight, shoulders above the hands.", {
        "not_vertical": (1, "shoulders beside the hands, arms at a slant"),
        "elbows_bent": (2, "shoulders low, elbows out"),
        "one_hand": (3, "the other hand hangs beside"),
        "omitted": (4, "no compressions"),
    }),
    "cpr_11": Step(0, "The chest goes down by 5.5 cm, and a thump is heard.", {
        "mostly_too_deep": (2, "8.6 cm"),
        "mostly_shallow": (3, "2.4 cm, a faint thump"),
        "omitted": (5, "no compressions"),
    }),
    "cpr_12": Step(0, "110 a minute.", {
        "uneven": (1, "five quick, five slow, and so on"),
        "far_out": (3, "86 or 154 a minute"),
        "omitted": (5, "no compressions"),
    }),
    "cpr_13": Step(0, "The chest comes up fully, the hands stay on it.", {
        "hands_leave_chest": (1, "hands lift off between strokes"),
        "constant_lean": (3, "2.2 cm remain after every stroke"),
        "omitted": (4, "no compressions"),
    }),
    "cpr_14": Step(23.3, "30 without a pause, counted aloud.", {
        "silent": (1, "not counted"),
        "pause_inside_set": (1, "stops for 2.5 s in the middle, hands on the chest"),
        "large_miscount": (2, "20 or 36"),
        "omitted": (3, "no compressions"),
    }),
    "cpr_15": Step(2.9, "Opens the mouth and looks in; there is nothing.", {
        "no_look": (1, "sweeps a finger through the mouth and looks away"),
        "blind_sweep": (1, "looks, and sweeps a finger through the empty mouth"),
        "omitted": (2, "the mouth stays shut"),
    }),
    "cpr_16": Step(1.8, "A hand at the forehead, two fingers at the chin: the head tilts back.", {
        "too_little_tilt": (1, "the head hardly moves"),
        "over_extension": (1, "the head goes twice as far"),
        "wrong_manoeuvre": (2, "one hand lifts the neck, the other does nothing"),
        "omitted": (3, "looks on; the breaths that follow raise no chest"),
    }),
    "cpr_17": Step(7.7, "Pinches the nose; two breaths of a second raise the chest, watched as it falls.", {
        "not_watching_chest": (1, "looks away between breaths"),
        "wrong_number": (1, "one breath, or three"),
        "leak": (2, "the hand is beside the nose, air escapes (white strokes, a hiss), half a rise"),
        "neither_effective": (4, "the chest does not rise"),
        "omitted": (5, "no breaths"),
    }),
    "cpr_18": Step(40.2, "Again 30 compressions and two breaths.", {
        "pause_over_15s": (2, "does nothing for 15 s before it goes on"),
        "order_reversed": (2, "breathes before the compressions"),
        "ratio_wrong_repeatedly": (3, "15 and one breath, twice"),
        "omitted": (6, "waits"),
    }),
    "cpr_19": Step(12.1, "Neck and chest checked together for five seconds; 'No pulse, go on!'.", {
        "one_sign_only": (1, "looks away from the chest"),
        "over_10s": (1, "over ten seconds"),
        "no_statement": (1, "says nothing"),
        "omitted": (2, "no check"),
    }),
    "aed_01": Step(4.2, "The helper brings the AED and compresses; it stands beside the head and is switched on.", {
        "late_power": (1, "switched on only after the pads"),
        "bad_placement": (1, "put down at the patient's feet"),
        "omitted": (2, "never switched on: the screen stays dark, the device silent"),
    }),
    "aed_02": Step(2.7, "Opens the shirt fully, wipes the chest: 'Dry, no patches.'.", {
        "partly_bare": (1, "the far half of the chest stays covered"),
        "no_skin_check": (1, "looks away, no wiping, no word"),
        "omitted": (2, "the shirt stays as it is"),
    }),
    "aed_03": Step(5.8, "One pad below the right collarbone, one at the left side below the armpit.", {
        "one_misplaced": (2, "the second pad in front, on the belly's edge"),
        "both_misplaced": (3, "both side by side, overlapping"),
        "omitted": (4, "no pads"),
    }),
    "aed_04": Step(7.8, "Presses the pads on, plugs the cable in (a green lamp), while the helper compresses.", {
        "poor_adhesion": (1, "does not press them on: their corners stand up"),
        "late_connector": (1, "the device says 'Plug in the connector.' three times first"),
        "long_interruption": (1, "the helper stops compressing for five seconds"),
        "omitted": (2, "the plug lies beside the device"),
    }),
    "aed_05": Step(11.0, "'Stand clear!', hand held up, looks along the patient; the helper stands up; 'Analysing.'.", {
        "voice_only": (1, "looks at the device only"),
        "gesture_only": (1, "no words"),
        "brief_contact": (2, "the helper's hand on the thigh during the analysis"),
        "omitted": (3, "no warning; the helper stays on the chest"),
    }),
    "aed_06": Step(4.9, "Waits for 'Shock advised.', tells the helper: 'It advises a shock!'.", {
        "acts_too_early": (1, "presses the button before the advice"),
        "result_not_signalled": (1, "says nothing"),
        "omitted": (2, "'No shock.', hands back on the chest"),
    }),
    "aed_07": Step(3.0, "The oxygen mask is taken away; 'Everybody clear!', hand held up, looks along the patient.", {
        "voice_only": (1, "looks at the device only"),
        "visual_only": (1, "no words"),
        "oxygen_left": (1, "the mask stays on the chest"),
        "contact_overlooked": (3, "the helper's hand lies on the thigh when the shock is given"),
        "omitted": (4, "no warning"),
    }),
    "aed_08": Step(12.5, "'Press the button.', beeps; presses at once; 'Shock delivered.', the patient jerks.", {
        "delayed": (1, "ten seconds later"),
        "shock_in_contact": (3, "the helper's hand lies on the thigh"),
        "omitted": (3, "no press"),
    }),
    "aed_09": Step(15.5, "Compresses at once and until the end of the step.", {
        "aed_off_or_pads_removed": (1, "takes the pads off and switches the device off first"),
        "delay_over_10s": (2, "looks at the device for ten seconds first"),
        "pulse_check_first": (2, "feels for a pulse first"),
        "omitted": (3, "looks on"),
    }),
    "bmv_01": Step(4.3, "'Pulse is back, no breathing.'; tries the bag twice, connects oxygen; the reservoir fills.", {
        "oxygen_missing_or_low": (1, "no hose, no flow; the reservoir stays flat"),
        "reservoir_not_filled": (1, "the reservoir stays flat"),
        "faulty_assembly": (2, "the valve is askew, the bag hangs down"),
        "omitted": (3, "takes the bag and does nothing"),
    }),
    "bmv_02": Step(2.5, "Kneels behind the head and tilts it.", {
        "not_at_head": (1, "kneels beside the chest"),
        "too_little_tilt": (1, "the head hardly moves"),
        "omitted": (2, "does not touch the head; squeezes raise no chest"),
    }),
    "bmv_03": Step(1.2, "The mask on mouth and nose, held by an E-C grip.", {
        "pushes_down": (1, "a palm on top of the mask"),
        "mask_misplaced": (2, "the mask over the eyes"),
        "constant_leak": (3, "air escapes with every squeeze (white strokes, a hiss); no chest rises"),
        "omitted": (4, "the mask hangs above the face; no chest rises"),
    }),
    "bmv_04": Step(15.5, "Three squeezes of a second, five seconds apart, raise the chest, which is watched.", {
        "not_watching_chest": (1, "looks away"),
        "over_inflation": (2, "the chest rises twice as far, and the belly with it"),
        "mostly_without_rise": (3, "the chest does not rise"),
        "omitted": (4, "no squeeze"),
    }),
    "bmv_05": Step(12.1, "Goes on at twelve a minute, eyes on the chest.", {
        "no_monitoring": (1, "looks away"),
        "hyperventilation": (2, "a squeeze every two seconds"),
        "omitted": (2, "lays the bag aside"),
    }),
}  # fmt: skip
"""The rows, in the rubric's order. The errors of the first set of compressions are judged on the span of ``cpr_14``."""

FOLLOWS: Mapping[str, tuple[str, ...]] = {
    "cpr_09.omitted": ("cpr_10.omitted", "cpr_11.omitted", "cpr_12.omitted", "cpr_13.omitted", "cpr_14.omitted"),
    "cpr_14.omitted": ("cpr_18.omitted",),
    "cpr_16.omitted": ("cpr_17.neither_effective",),
    "aed_01.omitted": ("aed_05.omitted", "aed_06.omitted", "aed_08.omitted"),
    "aed_03.omitted": ("aed_04.omitted",),
    "aed_04.omitted": ("aed_05.omitted", "aed_06.omitted", "aed_08.omitted"),
    "aed_07.contact_overlooked": ("aed_08.shock_in_contact",),
    "bmv_02.omitted": ("bmv_04.mostly_without_rise",),
    "bmv_03.omitted": ("bmv_04.mostly_without_rise",),
    "bmv_03.constant_leak": ("bmv_04.mostly_without_rise",),
    "bmv_04.omitted": ("bmv_05.omitted",),
}
"""What an error physically brings with it, in later steps: no compressions have no depth, rate or recoil either."""
NEVER_ALONE = frozenset((*FOLLOWS["cpr_09.omitted"], "aed_08.shock_in_contact"))
"""Errors that only follow from others."""
BEFORE_THE_ACT = ("aed_07", "aed_08")
"""Steps that wait first and act then (the device charges), since a shock follows at once on what clears for it."""
_SPREAD = 0.02
"""A span is up to this share longer than its least seconds."""


def draw_slots(seed: int) -> dict[str, float]:
    """Length of each step's span at full pace in tenths of a second, drawn before the trainee does anything.

    A span that is as long as what happens in it tells the label to whoever reads its length: an omitted step is short,
    a delay is long. So a step's slot depends on the step and on ``seed``, that of the exam's look, alone; what is left
    of it when the act is over passes in stillness. Steps that are judged on another one's span have none.
    """
    timed = {name: step.seconds for name, step in STEPS.items() if step.seconds}
    longer = np.random.default_rng([seed, 9]).uniform(1.0, 1.0 + _SPREAD, len(timed))
    return {name: round(float(part * timed[name]), 1) for name, part in zip(timed, longer, strict=True)}
