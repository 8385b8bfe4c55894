"""Prompts to the letter, and the hashes that records and results state of them."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from difflib import ndiff

import pytest

from siming_tasks.rubrics import Rubric, default_rubric, rubric_from
from siming_tasks.tasks import BENCHMARK_TASKS, TASKS
from siming_tasks.tasks.prompt import (
    PROMPT_VERSION,
    build_prompt,
    frame_caption,
    frames_note,
    template_hash,
)
from tests.tasks.conftest import own_hash

STEPS = default_rubric().steps


def test_the_template_of_every_task_is_pinned_to_the_task_version() -> None:
    """A changed word changes what is measured: move the task version and the changelog, then this line.

    Tasks that are not named here are newer than these; none of them may change a hash.
    """
    assert (PROMPT_VERSION, template_hash()) == ("4-A", "888bdb743a0b")
    pinned = {
        "full_score": "4432fb215541",
        "full_error": "fe9341732341",
        "clip_score": "ac1fd84138cb",
        "clip_error": "2baff2ab4453",
        "full_timed_score": "d29802a82e66",
        "full_timed_error": "61e31a890a06",
        "full_score_abstain": "2fd869a708cb",
        "full_error_abstain": "455f04a973ba",
        "clip_score_abstain": "dbd1668a53ca",
        "clip_error_abstain": "c14ff51cdffd",
        "full_score_evidence": "4c0c5e58355b",
        "full_error_evidence": "d8e3a496f3f9",
        "clip_score_evidence": "b071f49abe97",
        "clip_error_evidence": "fec3e2116bfd",
        "full_score_named_errors": "dccbe46289e0",
        "full_error_named_errors": "d438ae9eef99",
        "clip_score_named_errors": "5f8c93ce474c",
        "clip_error_named_errors": "03ede3449162",
        "ablation_no_video_full_score": "ba823d7c83d6",
        "ablation_no_video_full_error": "9876ba7d1052",
        "ablation_no_video_clip_score": "c8c24b899892",
        "ablation_no_video_clip_error": "f083d2112b6b",
        "ablation_shuffled_frames_full_score": "90be9f289c68",
        "ablation_shuffled_frames_full_error": "7c7043c95e5c",
        "ablation_shuffled_frames_clip_score": "643f874bb5ab",
        "ablation_shuffled_frames_clip_error": "fc537748cb8d",
        "ablation_frozen_frame_full_score": "12833d60c501",
        "ablation_frozen_frame_full_error": "17cf4536022d",
        "ablation_frozen_frame_clip_score": "c8852db30fa8",
        "ablation_frozen_frame_clip_error": "ad0117e77e7a",
        "ablation_mismatched_video_full_score": "d76007ee2ffe",
        "ablation_mismatched_video_full_error": "9f8342601fe8",
        "ablation_mismatched_video_clip_score": "bcec9c6f95b2",
        "ablation_mismatched_video_clip_error": "8caf1e8575b5",
        "sound_video_audio_full_score": "12d7c0adcc4d",
        "sound_video_audio_full_error": "db458eb6bdcd",
        "sound_video_audio_clip_score": "1a27e3601683",
        "sound_video_audio_clip_error": "bde4c88b410d",
        "sound_audio_full_score": "98de61786fa4",
        "sound_audio_full_error": "2abf746bf266",
        "sound_audio_clip_score": "3efaa93e2d29",
        "sound_audio_clip_error": "ba75d73678c8",
        "sound_video_transcript_full_score": "5e65deaf57e3",
        "sound_video_transcript_full_error": "d357bdde9183",
        "sound_video_transcript_clip_score": "5521f50a41b8",
        "sound_video_transcript_clip_error": "9de6e933d3fc",
    }
    assert {name: own_hash(TASKS[name]) for name in pinned} == pinned


@pytest.mark.parametrize(
    ("name", "pinned"),
    [
        ("full_score", "5f9cb8d487b3d855"),
        ("full_error", "0d4f367b4bc91093"),
        ("clip_score", "bdfbba9aef60018d"),
        ("clip_error", "b155f07415e36788"),
        ("full_timed_score", "7ec3aeaa754b4b69"),
        ("full_timed_error", "e4a090b31e4dfc61"),
        ("full_score_abstain", "b1d0ed229937be92"),
        ("full_error_abstain", "cb742bdbf834991e"),
        ("clip_score_abstain", "1881d8ff283ae7d1"),
        ("clip_error_abstain", "b18253ea3ed3a161"),
        ("full_score_evidence", "1526b61ccfee625f"),
        ("full_error_evidence", "8dce5170ead2efc3"),
        ("clip_score_evidence", "d157f1ae28153b22"),
        ("clip_error_evidence", "185143eb3f45de07"),
    ],
)
def test_the_whole_prompt_is_pinned_to_the_task_version(name: str, pinned: str) -> None:
    """Every prompt of the embedded rubric, byte by byte: SHA-256."""
    setting = TASKS[name]
    asked = [STEPS] if setting.scope == "full" else [STEPS[at : at + 1] for at in range(len(STEPS))]
    spans = [(float(at), at + 0.5) for at in range(33)] if setting.shows_step_times else None
    texts = [build_prompt(setting, steps, spans, default_rubric()) for steps in asked]
    assert hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16] == pinned
    assert template_hash(setting, default_rubric()) == template_hash(setting)


def other_rubric(changes: dict[str, object]) -> Rubric:
    """The embedded rubric under another id, with changes at its top."""
    kept = {**default_rubric().model_dump(mode="json"), "rubric_id": "other"}
    return rubric_from({name: value for name, value in {**kept, **changes}.items() if value is not None})


WHOLE = "You are a physician examiner of emergency skills. The video shows one complete examination, in which a trainee"


@pytest.mark.parametrize(
    ("changes", "full", "clip"),
    [
        (
            {"title": None},
            f"{WHOLE} performs the procedure below on a manikin. Judge",
            "a procedure on a manikin. It",
        ),
        ({"title": " "}, f"{WHOLE} performs the procedure below on a manikin. Judge", "a procedure on a manikin. It"),
        (
            {"title": "Suture of\n a wound", "setting": "on a  suture pad"},
            'You are a physician examiner. The video shows one complete examination ("Suture of a wound"), in which a '
            "trainee performs the procedure below on a suture pad. Judge the trainee by the rubric, step by step.",
            'is cut from an examination ("Suture of a wound"), in which a trainee performs a procedure on a suture pad.'
            " It shows the one step below.",
        ),
        (
            {"title": "Knots {of} 100 %"},
            'You are a physician examiner. The video shows one complete examination ("Knots {of} 100 %"), in which a '
            "trainee performs the procedure below. Judge",
            'an examination ("Knots {of} 100 %"), in which a trainee performs a procedure. It shows',
        ),
        (
            {"title": None, "setting": "at the bedside"},
            "You are a physician examiner. The video shows one complete examination, in which a trainee performs the "
            "procedure below at the bedside. Judge",
            "from an examination, in which a trainee performs a procedure at the bedside. It shows",
        ),
    ],
)
def test_the_role_describes_the_exam_in_the_rubrics_words(changes: dict[str, object], full: str, clip: str) -> None:
    rubric = other_rubric(changes)
    for name, setting in TASKS.items():
        if not setting.ablation.shows_media or setting.modality:
            continue  # they have other roles, which ask in the same words below
        full_video = setting.scope == "full"
        steps = rubric.steps if full_video else rubric.steps[:1]
        spans = [None] * len(steps) if setting.shows_step_times else None
        prompt = build_prompt(setting, steps, spans, rubric)
        assert full in prompt if full_video else clip in prompt, name
        assert (template_hash(setting, rubric) == template_hash(setting)) == (WHOLE in full)
        assert ("emergency" in prompt.split("Rubric:")[0]) == (WHOLE in full)


def test_an_exam_of_many_skills_is_called_by_those_that_are_asked_about() -> None:
    rubric = other_rubric({"exam": "Part: {skill}", "examiner": "a judge of {cooks}", "setting": "in a kitchen"})
    first, both = rubric.skills[0], (*rubric.skills[0].steps, *rubric.skills[1].steps)
    assert build_prompt(TASKS["clip_error"], first.steps[:1], None, rubric).startswith(
        f'You are a judge of {{cooks}}. The video clip is cut from an examination ("Part: {first.name}"), in which'
    )
    names = f"{first.name}, {rubric.skills[1].name}"
    assert f'examination ("Part: {names}"), in which' in build_prompt(TASKS["full_error"], both, None, rubric)
    assert template_hash(None, rubric) != template_hash(None, other_rubric({"setting": "in a kitchen"}))
    alone = other_rubric({"title": None, "examiner": "a paramedic"})
    prompt = build_prompt(TASKS["clip_error"], first.steps[:1], None, alone)
    assert prompt.startswith("You are a paramedic of emergency skills. The video clip")


def test_the_title_of_the_embedded_rubric_is_not_the_title_of_the_exam() -> None:
    """Folders built with the embedded rubric hold a copy of it, which states no setting."""
    prompt = build_prompt(TASKS["full_score"], STEPS, rubric=default_rubric())
    assert prompt.startswith(WHOLE) and (default_rubric().title or "") not in prompt
    moved = other_rubric({"rubric_id": "siming-default", "setting": "in a simulated ward"})
    assert "below in a simulated ward." in build_prompt(TASKS["full_score"], STEPS, rubric=moved)


def test_half_points_have_a_template_of_their_own() -> None:
    halves = other_rubric({"title": None, "score_increment": 0.5})
    for setting in TASKS.values():
        assert template_hash(setting, halves) != template_hash(setting)
    score, error = (build_prompt(TASKS[f"full_{kind}"], halves.steps, rubric=halves) for kind in ("score", "error"))
    assert score.count("half points allowed)") == error.count("half points allowed)") == 33
    assert "integer" not in score and "as a number." in score
    assert error.split("\n\nTask: ")[1] == build_prompt(TASKS["full_error"], STEPS).split("\n\nTask: ")[1]


def test_results_state_one_template_for_the_benchmark_and_one_for_each_control() -> None:
    assert {template_hash(TASKS[name]) for name in BENCHMARK_TASKS} == {template_hash()}
    controls = [setting for name, setting in TASKS.items() if name not in BENCHMARK_TASKS]
    assert [template_hash(setting) for setting in controls] == [own_hash(setting) for setting in controls]


def test_another_setting_changes_no_hash_and_is_asked_like_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: (template_hash(setting), own_hash(setting)) for name, setting in TASKS.items()}
    toy = replace(TASKS["clip_error"], name="clip_toy", role="You are a toy.", is_benchmark=False)
    monkeypatch.setitem(TASKS, "clip_toy", toy)
    assert {name: (template_hash(TASKS[name]), own_hash(TASKS[name])) for name in before} == before
    assert template_hash(toy) not in {value for pair in before.values() for value in pair}
    assert build_prompt(toy, STEPS[:1]).startswith("You are a toy.\n\nRubric:\n\n[cpr_01] ")


@pytest.mark.parametrize("part", ["name", "role", "question", "reply"])
def test_a_setting_has_a_hash_of_its_own_words(part: str) -> None:
    setting = TASKS["full_timed_score"]
    assert own_hash(replace(setting, **{part: getattr(setting, part) + "."})) != own_hash(setting)


def test_step_times_are_all_that_the_timed_prompt_adds() -> None:
    spans = [(12.34, 18.0), None, *[(20.0, 21.06)] * 31]
    for answer in ("score", "error"):
        plain = build_prompt(TASKS[f"full_{answer}"], STEPS).splitlines()
        timed = build_prompt(TASKS[f"full_timed_{answer}"], STEPS, spans).splitlines()
        added = [line[2:] for line in ndiff(plain, timed) if line.startswith("+ ")]
        removed = [line[2:] for line in ndiff(plain, timed) if line.startswith("- ")]
        assert removed == plain[:1]
        assert added == [
            plain[0] + " For each step the rubric says when the video shows it.",
            "Time: shown from 12.3 s to 18.0 s.",
            "Time: no part of the video is marked as showing this step.",
            *["Time: shown from 20.0 s to 21.1 s."] * 31,
        ]
        assert timed[timed.index(added[1]) - 1].startswith("[cpr_01] ")


def test_abstention_and_evidence_change_the_reply_section_alone() -> None:
    """Everything but the answer format stays word for word, so that only the format explains a difference."""
    halves = other_rubric({"title": None, "score_increment": 0.5})
    for base in BENCHMARK_TASKS:
        for form, word in (("abstain", '"not visible"'), ("evidence", '"evidence"')):
            setting = TASKS[f"{base}_{form}"]
            for rubric in (default_rubric(), halves):
                steps = rubric.steps if setting.scope == "full" else rubric.steps[:1]
                plain, other = (build_prompt(spec, steps, rubric=rubric) for spec in (TASKS[base], setting))
                assert plain.rpartition("\n\n")[0] == other.rpartition("\n\n")[0]
                assert word not in plain and word in other.rpartition("\n\n")[2]
                assert ("as a number" in other) == ("as a number" in plain)
                assert (f"{len(steps)} step ids" in other) == (setting.scope == "full")
            assert setting.answer_format.name == form
            assert not setting.is_benchmark and setting.group == f"siming_{form}"
    assert not any(TASKS[name].answer_format.name for name in BENCHMARK_TASKS)


def test_named_errors_add_the_rubrics_errors_to_each_step_and_change_the_reply() -> None:
    for base in BENCHMARK_TASKS:
        steps = STEPS if TASKS[base].scope == "full" else STEPS[:1]
        plain, other = (build_prompt(TASKS[name], steps).splitlines() for name in (base, f"{base}_named_errors"))
        added = [line[2:] for line in ndiff(plain[:-1], other[:-1]) if not line.startswith("  ")]
        expected = []
        for step in steps:
            expected += ["Errors:", *(f"- {error.id}: {error.observable}" for error in step.errors)]
        assert added == expected and all(step.errors for step in steps)
        assert '"errors", the ids of the listed errors' in other[-1] and '"reason", what the ' in other[-1]


def test_a_step_without_errors_states_that_none_is_defined() -> None:
    step = STEPS[0].model_copy(update={"errors": ()})
    assert "\nErrors: none are named.\n\nTask:" in build_prompt(TASKS["clip_error_named_errors"], [step])


def test_only_a_setting_with_step_times_takes_spans() -> None:
    with pytest.raises(ValueError, match="full_score needs no spans, 33 given"):
        build_prompt(TASKS["full_score"], STEPS, [None] * 33)
    with pytest.raises(ValueError, match="full_timed_score needs 33 spans, none given"):
        build_prompt(TASKS["full_timed_score"], STEPS)
    with pytest.raises(ValueError, match="full_timed_error needs 33 spans, 2 given"):
        build_prompt(TASKS["full_timed_error"], STEPS, [None] * 2)


def test_clip_prompt_to_the_letter() -> None:
    assert (
        build_prompt(TASKS["clip_score"], [default_rubric().by_id["cpr_07"]])
        == """\
You are a physician examiner of emergency skills. The video clip is cut from an examination, in which a trainee \
performs a procedure on a manikin. It shows the one step below. Judge the trainee by the rubric.

Rubric:

[cpr_07] Expose the chest (maximum 1 point)
Requirement: Opens clothing so that the sternum and nipple line can be seen before hands are placed.
Full points: Chest visible before the first compression.
Partial points: Not available: one-point item.
No points: Compressions through closed clothing or chest bared only later.

Task: score this step. Give a whole number of points from 0 (failed) to the maximum of the step (fully correct).

Answer with one JSON object and nothing else. It has the single key "score", whose value is your points, as an integer \
from 0 to 1. Only the JSON counts, and of several answers to a step the last."""
    )


@pytest.mark.parametrize("name", ["full_score", "full_error"])
def test_full_prompt_names_every_step_with_scale_and_criteria(name: str) -> None:
    prompt = build_prompt(TASKS[name], STEPS)
    for step in STEPS:
        assert prompt.count(f"[{step.id}] {step.name} (maximum {step.max_score:g} point") == 1
        for text in (step.requirement, step.criteria.full, step.criteria.partial, step.criteria.fail):
            assert text in prompt
    assert "each of the 33 step ids" in prompt
    assert not re.search(r'"(?:cpr|aed|bmv)_\d+"\s*:', prompt)  # no example score vector


def test_settings_of_one_scope_share_everything_before_the_task() -> None:
    for scope, steps in (("full", STEPS), ("clip", STEPS[:1])):
        score, error = (build_prompt(TASKS[f"{scope}_{answer}"], steps) for answer in ("score", "error"))
        assert score.split("\n\nTask: ")[0] == error.split("\n\nTask: ")[0]
        assert score != error


def test_a_clip_asks_about_one_step() -> None:
    with pytest.raises(ValueError, match="clip_score cannot ask about 2 steps"):
        build_prompt(TASKS["clip_score"], STEPS[:2])
    with pytest.raises(ValueError, match="full_score cannot ask about 0 steps"):
        build_prompt(TASKS["full_score"], [])


def test_frames_carry_their_time() -> None:
    assert frame_caption(12.34) == "Frame at 12.3 s:"
    assert frames_note([0.0, 2.5]) == (
        "The 2 images above are frames of the video in order; the time of each, in seconds, is 0.0, 2.5."
    )
