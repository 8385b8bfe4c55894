"""Prompts to the letter, and the hashes that records and results state of them."""

import hashlib
from dataclasses import replace
from difflib import ndiff

import pytest

from siming_tasks.benchmark.rubrics import Rubric, default_rubric, rubric_from
from siming_tasks.benchmark.tasks import BENCHMARK_TASKS, TASKS, UNALTERED_TASKS
from siming_tasks.benchmark.tasks.prompt import PROMPT_VERSION, build_prompt, frame_caption, frames_note, template_hash
from tests.benchmark.tasks.conftest import own_hash

STEPS = default_rubric().steps
PLAIN = "5f9cb8d487b3d855 0d4f367b4bc91093 bdfbba9aef60018d b155f07415e36788"
PINNED = {
    "{}": ("4432fb215541 fe9341732341 ac1fd84138cb 2baff2ab4453", PLAIN),
    "{}_abstain": ("2fd869a708cb 455f04a973ba dbd1668a53ca c14ff51cdffd",
                   "b1d0ed229937be92 cb742bdbf834991e 1881d8ff283ae7d1 b18253ea3ed3a161"),
    "{}_evidence": ("4c0c5e58355b d8e3a496f3f9 b071f49abe97 fec3e2116bfd",
                    "1526b61ccfee625f 8dce5170ead2efc3 d157f1ae28153b22 185143eb3f45de07"),
    "{}_named_errors": ("dccbe46289e0 d438ae9eef99 5f8c93ce474c 03ede3449162",
                        "452eae49bf672fb5 565271ddba8bd6b2 8871c5dca0b25563 0d3d307903bda13b"),
    "ablation_no_video_{}": ("ba823d7c83d6 9876ba7d1052 c8c24b899892 f083d2112b6b",
                             "3d1899d5a698faa3 d99f3faac4c31b49 3bf30962d35ae4b2 8f503e3d7a220c2b"),
    "ablation_shuffled_frames_{}": ("90be9f289c68 7c7043c95e5c 643f874bb5ab fc537748cb8d", PLAIN),
    "ablation_frozen_frame_{}": ("12833d60c501 17cf4536022d c8852db30fa8 ad0117e77e7a", PLAIN),
    "ablation_mismatched_video_{}": ("d76007ee2ffe 9f8342601fe8 bcec9c6f95b2 8caf1e8575b5", PLAIN),
    "sound_video_audio_{}": ("12d7c0adcc4d db458eb6bdcd 1a27e3601683 bde4c88b410d",
                             "187fc42b80be24d9 efbb6848e9010ad2 92d2cd574c0e80b3 18f2a11c35d8f536"),
    "sound_audio_{}": ("98de61786fa4 2abf746bf266 3efaa93e2d29 ba75d73678c8",
                       "bf5c00a3518b5710 42a6f63ca2bda2c5 3b713a84c055ec06 165c17e4cbf582f6"),
    "sound_video_transcript_{}": ("5e65deaf57e3 d357bdde9183 5521f50a41b8 9de6e933d3fc",
                                  "c70e2d08213fcd85 694ee61fa14aebfe 8f95bb50a5070aea a7e5118b551a54cc"),
}  # fmt: skip
"""By name of a task, ``{}`` for those of the benchmark in turn: hashes of its template, and of all its prompts."""
PINNED_TIMED = {
    "full_timed_score": ("d29802a82e66", "7ec3aeaa754b4b69"),
    "full_timed_error": ("61e31a890a06", "e4a090b31e4dfc61"),
}


def test_templates_and_whole_prompts_are_pinned_to_the_task_version() -> None:
    """A changed word changes what is measured: move the task version and the changelog, then these hashes.

    Tasks that are not named here are newer than these; none of them may change a hash.
    """
    assert (PROMPT_VERSION, template_hash()) == ("1-A", "888bdb743a0b")
    rows = {pattern: zip(BENCHMARK_TASKS, *map(str.split, texts), strict=True) for pattern, texts in PINNED.items()}
    pinned = {pattern.format(task): tuple(hashes) for pattern, row in rows.items() for task, *hashes in row}
    found = {}
    for name in (*pinned, *PINNED_TIMED):
        task = TASKS[name]
        asked = [STEPS] if task.scope == "full" else [STEPS[at : at + 1] for at in range(len(STEPS))]
        spans = [(float(at), at + 0.5) for at in range(33)] if task.shows_step_times else None
        texts = "\0".join(build_prompt(task, steps, spans, default_rubric()) for steps in asked)
        found[name] = (own_hash(task), hashlib.sha256(texts.encode()).hexdigest()[:16])
        assert template_hash(task, default_rubric()) == template_hash(task)
        assert template_hash(task) == (template_hash() if name in BENCHMARK_TASKS else own_hash(task))
    assert found == pinned | PINNED_TIMED


def other_rubric(changes: dict[str, object]) -> Rubric:
    """The embedded rubric under another id, with changes at its top."""
    kept = {**default_rubric().model_dump(mode="json"), "rubric_id": "other"}
    return rubric_from({name: value for name, value in {**kept, **changes}.items() if value is not None})


ONE = "The video shows one complete examination"
WHOLE = f"You are a physician examiner of emergency skills. {ONE}, in which a trainee"


@pytest.mark.parametrize(
    ("changes", "full", "clip"),
    [
        ({"title": " "}, f"{WHOLE} performs the procedure below on a manikin. Judge", "a procedure on a manikin. It"),
        (
            {"title": "Suture of\n a wound", "setting": "on a  suture pad"},
            f'You are a physician examiner. {ONE} ("Suture of a wound"), in which a trainee performs the procedure '
            "below on a suture pad. Judge the trainee by the rubric, step by step.",
            'is cut from an examination ("Suture of a wound"), in which a trainee performs a procedure on a suture pad.'
            " It shows the one step below.",
        ),
        (
            {"title": "Knots {of} 100 %"},
            f'You are a physician examiner. {ONE} ("Knots {{of}} 100 %"), in which a trainee performs the procedure '
            "below. Judge",
            'an examination ("Knots {of} 100 %"), in which a trainee performs a procedure. It shows',
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
    # folders built with the embedded rubric hold a copy of it, whose title is about the rubric
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


def test_formats_change_the_reply_section_and_what_they_add_to_a_step_alone() -> None:
    """Everything else stays word for word, so that only the format explains a difference."""
    halves = other_rubric({"title": None, "score_increment": 0.5})
    for base in BENCHMARK_TASKS:
        for rubric in (default_rubric(), halves):
            steps = rubric.steps if TASKS[base].scope == "full" else rubric.steps[:1]
            texts = {form: build_prompt(TASKS[f"{base}{form}"], steps, rubric=rubric).rpartition("\n\n")
                     for form in ("", "_abstain", "_evidence", "_named_errors")}  # fmt: skip
            for form, word in (("_abstain", '"not visible"'), ("_evidence", '"evidence"')):
                assert texts[form][0] == texts[""][0] and word in texts[form][2] and word not in texts[""][2]
                assert ("as a number" in texts[form][2]) == ("as a number" in texts[""][2])
            lines = ndiff(texts[""][0].splitlines(), texts["_named_errors"][0].splitlines())
            expected = [["Errors:", *(f"- {error.id}: {error.observable}" for error in step.errors)] for step in steps]
            assert [line[2:] for line in lines if line[0] in "+-"] == [line for each in expected for line in each]
    step = STEPS[0].model_copy(update={"errors": ()})
    assert "\nErrors: none are named.\n\nTask:" in build_prompt(TASKS["clip_error_named_errors"], [step])


@pytest.mark.parametrize("name", UNALTERED_TASKS)
def test_a_reasoned_prompt_differs_in_one_sentence(name: str) -> None:
    setting = TASKS[name]
    steps = STEPS if setting.scope == "full" else STEPS[:1]
    spans = [None] * len(steps) if setting.shows_step_times else None
    plain, other = (build_prompt(setting, steps, spans, style=style) for style in ("plain", "reasoned"))
    assert plain == build_prompt(setting, steps, spans)
    first = "Answer with one JSON object and nothing else."
    before, _, after = plain.partition(first)
    assert other.startswith(before) and other.endswith(after) and first not in other
    added = other.removeprefix(before).removesuffix(after)
    assert added.startswith("First think step by step") and added.endswith("one JSON object and nothing after it.")
    assert own_hash(setting, style="reasoned") != own_hash(setting) == own_hash(setting, style="plain")


@pytest.mark.parametrize(
    ("name", "steps", "spans", "words"),
    [
        ("full_score", STEPS, [None] * 33, "full_score needs no spans, 33 given"),
        ("full_timed_score", STEPS, None, "full_timed_score needs 33 spans, none given"),
        ("full_timed_error", STEPS, [None] * 2, "full_timed_error needs 33 spans, 2 given"),
        ("clip_score", STEPS[:2], None, "clip_score cannot ask about 2 steps"),
        ("full_score", [], None, "full_score cannot ask about 0 steps"),
    ],
)
def test_steps_and_spans_that_do_not_fit_are_refused(name: str, steps: list, spans: list | None, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        build_prompt(TASKS[name], steps, spans)


def test_frames_carry_their_time() -> None:
    assert frame_caption(12.34) == "Frame at 12.3 s:"
    assert frames_note([0.0, 2.5]) == (
        "The 2 images above are frames of the video in order; the time of each, in seconds, is 0.0, 2.5."
    )
