"""Words and flags of every command: their help, what they refuse, and the options that they set."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib import resources

import click
import pytest

from siming_tasks.cli import main
from siming_tasks.cli.main import COMMANDS, GROUPS, find_command
from siming_tasks.cli.parameters import OptionFlag, OutputPath
from siming_tasks.options import OPTIONS
from tests.cli.command_lines import commands_in, example, parse


def wrong_texts(param: click.Option) -> list[str]:
    """Values that a flag refuses, by its kind."""
    kind = param.type
    if isinstance(param, OptionFlag):
        option = OPTIONS[str(param.name)]
        if option.words or isinstance(option.default, int | float):
            return ["nonsense", "nan", "-1", ""]
        return [""]
    if isinstance(kind, click.IntRange):
        return ["x", "", "1.5", str(int(kind.min or 0) - 1)]
    if isinstance(kind, click.FloatRange):
        return ["x", "nan", *([] if kind.max is None else ["inf", str(2 * kind.max)]), str((kind.min or 0) - 1)]
    if isinstance(kind, click.Choice):
        return ["nonsense", ""]
    if isinstance(kind, OutputPath):
        return ["", "/dev/null", *([] if kind.folder else ["/"])]
    return []


WRONG = [
    (name, param.opts[0], text)
    for name in COMMANDS
    for param in find_command(name).params
    if isinstance(param, click.Option) and param.opts[0] != "--key"  # what follows it is hidden like a secret
    for text in wrong_texts(param)
]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_an_example_and_a_next_step_that_can_be_read(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parse([*name.split(), *example(name)]) is not None
    assert main([*name.split(), "--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"Usage: siming {name} ")
    (line,) = re.findall(r"^  Next: (.*)$", text, re.MULTILINE)
    if "lmms-eval" not in line:
        (words,) = commands_in(f"```\n{line}\n```")
        assert parse(words) is not None
    flat = "".join(text.split())
    for param in find_command(name).params:
        if isinstance(param, OptionFlag):
            option = OPTIONS[str(param.name)]
            said = f"{option.help.replace('`', '')} (default: {option.variable}, else {option.default_text})"
            assert "".join(said.split()) in flat
        else:
            assert "".join(str(param.help).split()) in flat and param.help, param.name  # type: ignore[attr-defined]


def test_help_lists_every_command_and_group(capsys: pytest.CaptureFixture[str]) -> None:
    listed = []
    for group in GROUPS:
        assert main([*group.split(), "--help"]) == 0
        text = capsys.readouterr().out
        names = re.findall(r"^  ([a-z-]+)  ", text.partition("Commands:")[2], re.MULTILINE)
        listed += [f"{group} {name}".strip() for name in names]
        assert group or ("lmms-eval --model MODEL --tasks siming" in text and len(text.splitlines()) <= 30)
    assert set(listed) == set(COMMANDS) | (set(GROUPS) - {""})


def test_a_wrong_value_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    for name, flag, text in WRONG:
        assert main([*name.split(), *example(name), f"{flag}={text}"]) == 2, (name, flag, text)
        out, err = capsys.readouterr()
        assert out == "" and flag in err and text in err and f"siming {name}" in err and err.count("\n") <= 5, err
    assert len(WRONG) > 200


def test_a_wrong_variable_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIMING_FRAMES", "0")
    for name in COMMANDS:
        if any(isinstance(param, OptionFlag) for param in find_command(name).params):
            assert main([*name.split(), *example(name)]) == 2
            assert capsys.readouterr() == ("", f"siming {name}: SIMING_FRAMES='0' must be from 1 to 1,000,000,000.\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("score", "Missing argument 'RUN...'."),
        ("report --jobs", "Option '--jobs' requires an argument."),
        ("run plan --frame 3", "No such option '--frame'. (Did you mean one of: '--clip-frames', '--frame-size'"),
        ("data check a b", "Got unexpected extra argument (b)"),
        ("data build out --rubric r --videos v", "Missing option '--labels'."),
        ("data chekc exams", "No such command 'chekc'."),
        ("board inbox", "No such command 'inbox'."),
        ("build exams", "No such command 'build'. Did you mean 'siming data build'?"),
        ("data raters exams", "No such command 'raters'. Did you mean 'siming study raters'?"),
        ("score a --tasks siming", "siming score: --tasks goes with --show missing."),
        ("score a --pass-mark 0.5", "siming score: --pass-mark goes with --show diagnosis."),
    ],
)
def test_bad_usage_is_told(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err


@pytest.mark.parametrize("words", [[], ["data"]])
def test_no_command_at_all_is_answered_by_the_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"{' '.join(['Usage: siming', *words])} [OPTIONS] COMMAND")


def test_the_folder_of_the_tasks_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--tasks-path"]) == 0
    assert capsys.readouterr().out.strip() == str(resources.files("siming_tasks.yaml_tasks"))


def test_every_option_is_a_flag_of_some_command_and_means_the_same_everywhere() -> None:
    """Exceptions: who rates is not whose points are used; frames are prepared by video, not by request."""
    params = [(name, param) for name in COMMANDS for param in find_command(name).params]
    own = {str(param.name) for _, param in params if isinstance(param, OptionFlag)}
    assert own == {name for name, option in OPTIONS.items() if option.changes != "asking"}
    others = {(name, param.opts[0]) for name, param in params if not isinstance(param, OptionFlag)}
    taken = {option.flag for option in OPTIONS.values()}
    assert {pair for pair in others if pair[1] in taken} == {("data rate", "--rater"), ("run prepare", "--shard")}


def test_words_are_parts_of_a_run_and_flags_may_stand_between() -> None:
    for line in ("score a b --json", "score a --json b --rater x", "score --mapping absolute a b"):
        assert list(map(str, parse(shlex.split(line))["parts"])) == ["a", "b"]


@pytest.mark.parametrize("words", [["--help"], ["data", "--help"], ["score", "--help"]])
def test_help_is_quick_and_loads_nothing_heavy(words: list[str]) -> None:
    heavy = "{'numpy', 'scipy', 'pydantic', 'yaml', 'PIL', 'av', 'jinja2', 'tqdm', 'torch', 'rich', 'starlette'}"
    code = f"import sys, time; from siming_tasks.cli import main; main({words}); "
    code += f"print(sorted({heavy} & set(sys.modules)), time.process_time())"
    done = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    ends = [one.stdout.splitlines()[-1].split() for one in done]
    assert {loaded for loaded, _ in ends} == {"[]"} and min(float(seconds) for _, seconds in ends) < 0.25
