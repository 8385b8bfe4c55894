"""The flags of every subcommand: made of the options, with one meaning, refused in one sentence."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator

import pytest

from siming_tasks.cli import main
from siming_tasks.cli.arguments import Checked
from siming_tasks.cli.flags import SCORED, options_from
from siming_tasks.cli.main import parser
from siming_tasks.options import OPTIONS, Choice, Decimal, ImageFormat, Options, Share, Text, Whole

WORDS = {
    "rubric": ["check"],
    "template": ["out.xlsx", "--rubric", "r", "--videos", "v"],
    "build": ["out", "--rubric", "r", "--labels", "l", "--videos", "v"],
    "check": [],
    "withhold": ["out", "--key", "k"],
    "demo": ["out"],
    "prepare": [],
    "plan": [],
    "recipe": [],
    "shards": ["3", "--tasks", "siming"],
    "join": ["a", "out"],
    "score": ["p"],
    "compare": ["a", "b"],
    "raters": [],
    "diagnose": ["a"],
    "power": [],
    "lint-table": ["paper"],
    "report": ["a"],
    "view": ["a"],
    "submit": ["a"],
    "board": ["inbox"],
    "rate": ["videos", "--rater", "r"],
    "tasks-path": [],
    "docs": [],
    "edit": ["d", "out"],
    "requests": ["out.jsonl", "--setting", "full_score"],
    "export": ["a", "out", "--format", "jsonl"],
    "import": ["a", "out", "--format", "inspect"],
    "push": ["org/name"],
    "baseline": ["d"],
}
"""What each subcommand cannot do without."""

SCORING = ("score", "compare", "diagnose", "report", "submit", "board")


def commands() -> dict[str, argparse.ArgumentParser]:
    (found,) = (action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    return dict(found.choices)


def actions(*, hidden: bool = False) -> Iterator[tuple[str, argparse.Action]]:
    for name, command in commands().items():
        for action in command._actions:
            if hidden or action.help != argparse.SUPPRESS:
                yield name, action


def taken(name: str) -> tuple[str, ...]:
    """The options that a subcommand takes."""
    return commands()[name].get_default("option_names") or ()


def wrong_texts(kind: object) -> list[str]:
    if isinstance(kind, Whole):
        return ["x", "", "1.5", str(kind.least - 1), "-5", "10000000000"]
    if isinstance(kind, Decimal):
        least = kind.above if kind.above is not None else kind.least
        below = [] if kind.below is None else [str(kind.below)]
        above = [] if kind.most is None else [str(2 * kind.most)]
        return ["x", "", "nan", "inf", "-inf", str((least or 0) - 1), *below, *above]
    if isinstance(kind, Choice):
        return ["nonsense", ""]
    if isinstance(kind, Share):
        return ["3", "0/2", "3/2", "a/b", "1/", ""]
    if isinstance(kind, ImageFormat):
        return ["gif", "", "jpeg0", "jpeg101", "png9"]
    assert isinstance(kind, Text)
    return [] if kind.empty else ["", " "]


WRONG = [
    pytest.param(name, flag, text, id=f"{name} {flag} {text!r}")
    for name, action in actions(hidden=True)
    if isinstance(action, Checked)
    for flag in action.option_strings
    for text in wrong_texts(action.kind)
]


def test_the_table_of_words_is_whole() -> None:
    assert set(WORDS) == set(commands())
    for name, words in WORDS.items():
        assert callable(parser().parse_args([name, *words]).run)


@pytest.mark.parametrize(("name", "flag", "text"), WRONG)
def test_a_wrong_value_is_refused_in_one_sentence(
    name: str, flag: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, *WORDS[name], f"{flag}={text}"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    start = f"siming {name}: {flag} {text!r} "
    assert err.startswith(start)
    reason = err.removeprefix(start)
    assert reason.endswith(".\n") and reason.count("\n") == 1 and ". " not in reason
    assert reason.startswith(("is not ", "must be ", "must not be empty"))


def test_the_flags_above_are_many() -> None:
    """Every command that draws at random refuses a negative seed, and so on: the list above is not empty by mistake."""
    shown = {param.id for param in WRONG}
    for name in (*SCORING, "raters"):
        assert {f"{name} --seed '-1'", f"{name} --resamples '-5'", f"{name} --resamples '1'"} <= shown
    assert {"check --jobs '0'", "plan --videos '0'", "power --replicates '99'", "board --match '2'"} <= shown
    assert {"diagnose --pass-mark '2'", "power --alpha '1'", "prepare --frames 'x'"} <= shown


def test_no_number_is_left_to_argparse() -> None:
    """``type=int`` would refuse in other words, and take -5."""
    assert not [(name, action.dest) for name, action in actions(hidden=True) if action.type in (int, float)]


@pytest.mark.parametrize("name", [name for name in WORDS if taken(name)])
def test_a_wrong_variable_is_refused_in_one_sentence(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIMING_RESAMPLES", "1")
    assert main([name, *WORDS[name]]) == 2
    assert capsys.readouterr() == ("", f"siming {name}: SIMING_RESAMPLES='1' must be at least 2.\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score"], "siming score: the following arguments are required: PREDICTIONS (see siming score --help)\n"),
        (["report", "--jobs"], "siming report: --jobs: expected one argument (see siming report --help)\n"),
        (["raters", "--json=1"], "siming raters: --json: ignored explicit argument '1' (see siming raters --help)\n"),
        (["plan", "--frame"], "siming plan: ambiguous option: --frame could match --frames, --frame-size (see siming"),
        ([], "siming: the following arguments are required: COMMAND (see siming --help)\n"),
        (["plan", "--colour", "red"], "siming: unrecognized arguments: --colour red (see siming --help)\n"),
    ],
)
def test_bad_usage_is_said_in_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(message) and err.count("\n") == 1


@pytest.mark.parametrize("name", WORDS)
def test_help_lists_the_options_with_their_defaults(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for field in taken(name):
        option = OPTIONS[field]
        assert f"{option.flag} {option.kind.metavar} " in text
        assert f"{option.help.replace('`', '')} (default: {option.variable}, else {option.default_text})" in text


def test_a_flag_means_the_same_everywhere() -> None:
    """Exceptions: the seed that data are made with is part of them; who rates is not whose points are used."""
    by_flag = {option.flag: name for name, option in OPTIONS.items()}
    others = {
        (command, flag)
        for command, action in actions()
        for flag in action.option_strings
        if flag in by_flag and by_flag[flag] not in taken(command)
    }
    assert others == {("demo", "--seed"), ("edit", "--seed"), ("rate", "--rater")}


def test_which_commands_take_what() -> None:
    asking = {name for name, option in OPTIONS.items() if option.changes == "asking"}
    assert {field for name in WORDS for field in taken(name)} == set(OPTIONS) - asking
    for name in SCORING:
        assert taken(name) == ("data", *SCORED, *(["prices"] if name in ("score", "report") else []))
    assert [name for name in WORDS if "data" in taken(name)] == [
        *(
            "check",
            "withhold",
            "prepare",
            "plan",
            "shards",
            "join",
            "score",
            "compare",
            "raters",
            "diagnose",
            "report",
            "view",
            "submit",
            "board",
            "edit",
            "requests",
            "export",
            "push",
            "baseline",
        )
    ]
    labels = {name for name, action in actions() if "--labels" in action.option_strings}
    assert labels - {"build"} == {*SCORING, "raters", "export", "baseline"}


def test_a_flag_overrules_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMING_SEED", "5")
    monkeypatch.setenv("SIMING_MAPPING", "proportional")
    given = parser().parse_args(["score", "p", "--seed", "7", "--positive", "Correct", "--data", "exams"])
    expected = Options(data="exams", seed=7, mapping="proportional", positive="correct")
    assert options_from(given) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["prepare", "--mode", "proxy"], Options(media="proxy")),
        (["prepare", "--matched"], Options(clip_density="matched")),
        (["plan", "--matched"], Options(clip_density="matched")),
    ],
)
def test_former_names_of_options_still_work(arguments: list[str], expected: Options) -> None:
    assert options_from(parser().parse_args(arguments)) == expected


def test_former_names_of_other_flags_still_work() -> None:
    assert parser().parse_args(["report", "a", "--media", "none"]).video_files == "none"
    assert parser().parse_args(["report", "a"]).video_files == "link"
    built = parser().parse_args(["build", "out", "--rubric", "r", "--labels", "l", "--videos", "v", "--mapping", "m"])
    assert str(built.columns) == "m"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["score", "run"], (None, "run")),
        (["score", "exams", "run"], ("exams", "run")),
        (["score", "exams", "--json", "run"], ("exams", "run")),
        (["score", "--json", "run"], (None, "run")),
        (["score", "--resamples", "50", "exams", "--json", "--seed", "3", "run"], ("exams", "run")),
        (["withhold", "exams", "--key", "k", "out"], ("exams", "out")),
        (["withhold", "--key", "k", "out"], (None, "out")),
    ],
)
def test_flags_may_stand_between_words(arguments: list[str], expected: tuple[str | None, str]) -> None:
    found = parser().parse_args(arguments)
    last = found.predictions if arguments[0] == "score" else found.out
    assert (found.dir, str(last)) == expected


def test_help_loads_nothing_heavy() -> None:
    heavy = "{'numpy', 'scipy', 'pydantic', 'yaml', 'PIL', 'av', 'jinja2', 'tqdm', 'torch'}"
    code = "import sys; from siming_tasks.cli import main; main(['score', '-h']); "
    code += f"print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"
