"""Words and flags of every command: their help, what they refuse, and the options that they set."""

import re
from importlib import resources

import click
import pytest

from siming_tasks.cli import main
from siming_tasks.cli.main import COMMANDS, GROUPS, find_command
from siming_tasks.cli.parameters import OptionFlag, OutputPath
from siming_tasks.options import OPTIONS
from tests.cli.command_lines import commands_in, example, parse


def wrong_texts(param: click.Option) -> list[str]:
    kind = param.type
    if isinstance(param, OptionFlag):
        option = OPTIONS[str(param.name)]
        return ["nan", ""] if option.words or isinstance(option.default, int | float) else [""]
    if isinstance(kind, click.IntRange):
        return ["x", str(int(kind.min or 0) - 1)]
    if isinstance(kind, click.FloatRange):
        return ["nan", *([] if kind.max is None else [str(2 * kind.max)]), str((kind.min or 0) - 1)]
    if isinstance(kind, click.Choice):
        return ["nonsense"]
    return ["", "/dev/null"] if isinstance(kind, OutputPath) else []


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
    assert all(getattr(param, "help", "") for param in find_command(name).params), "each word and flag is explained"


def test_help_lists_every_command_and_group(capsys: pytest.CaptureFixture[str]) -> None:
    listed = []
    for group in GROUPS:
        assert main([*group.split(), "--help"]) == 0
        text = capsys.readouterr().out
        lines = re.findall(r"^  ([a-z-]+)  +(.*)", text.partition("Commands:")[2], re.MULTILINE)
        names, told = zip(*lines, strict=True)
        assert all(line.endswith(".") and ".." not in line for line in told), "nothing is cut"
        listed += [f"{group} {name}".strip() for name in names]
        assert group or "lmms-eval --model MODEL --tasks siming" in text
    assert set(listed) == set(COMMANDS) | (set(GROUPS) - {""})


def test_a_wrong_value_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    tried = 0
    for name in COMMANDS:
        for param in find_command(name).params:
            if not isinstance(param, click.Option) or param.opts[0] == "--key":  # its value is hidden like a secret
                continue
            for text in wrong_texts(param):
                tried += 1
                assert main([*name.split(), *example(name), f"{param.opts[0]}={text}"]) == 2, (name, param.opts, text)
                out, err = capsys.readouterr()
                assert out == "" and param.opts[0] in err and text in err and f"siming {name}" in err, err
                assert err.count("\n") <= 5
    assert tried > 100


def test_a_wrong_variable_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIMING_FRAMES", "0")
    for name in COMMANDS:
        if any(isinstance(param, OptionFlag) for param in find_command(name).params):
            assert main([*name.split(), *example(name)]) == 2
            assert capsys.readouterr() == ("", f"siming {name}: SIMING_FRAMES='0' must be from 1 to 1,000,000,000.\n")


def test_bad_usage_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    for line, said in (
        ("score", "Missing argument 'RUN...'."),
        ("report --jobs", "Option '--jobs' requires an argument."),
        ("run plan --frame 3", "No such option '--frame'. (Did you mean one of: '--clip-frames', '--frame-size'"),
        ("data chekc exams", "No such command 'chekc'."),
        ("build exams", "No such command 'build'. Did you mean 'siming data build'?"),
        ("score a --tasks siming", "siming score: --tasks goes with --show missing."),
    ):
        assert main(line.split()) == 2
        out, err = capsys.readouterr()
        assert out == "" and said in err


def test_no_command_at_all_is_answered_by_the_help_and_the_folder_of_tasks_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for words in ([], ["data"]):
        assert main(words) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.startswith(f"{' '.join(['Usage: siming', *words])} [OPTIONS] COMMAND")
    assert main(["--tasks-path"]) == 0
    assert capsys.readouterr().out.strip() == str(resources.files("siming_tasks.yaml_tasks"))


def test_every_option_is_a_flag_of_some_command_and_means_the_same_everywhere() -> None:
    """Exceptions: who rates is not whose points are used; frames are prepared, or counted, by video."""
    params = [(name, param) for name in COMMANDS for param in find_command(name).params]
    own = {str(param.name) for _, param in params if isinstance(param, OptionFlag)}
    assert own == {name for name, option in OPTIONS.items() if option.changes != "asking"}
    others = {(name, param.opts[0]) for name, param in params if not isinstance(param, OptionFlag)}
    taken = {option.flag for option in OPTIONS.values()}
    prepare = {("run prepare", "--shard"), ("run prepare", "--dry-run")}
    assert {pair for pair in others if pair[1] in taken} == {("data rate", "--rater"), *prepare}
