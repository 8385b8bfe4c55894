"""The flags of every subcommand: made of the options, with one meaning, refused in one sentence."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from siming_tasks.cli import main
from siming_tasks.cli.command_table import TABLE, CommandRow
from siming_tasks.cli.main import COMMANDS, all_commands, find_command
from siming_tasks.cli.parameters import SCORING_OPTIONS, OptionType, OutputPath, Setting, next_step
from siming_tasks.options import OPTIONS, Options
from tests.cli.command_lines import flags, parse

WORDS = {
    "data rubric": ["check"],
    "data template": ["out.xlsx", "--rubric", "r", "--videos", "v"],
    "data build": ["out", "--rubric", "r", "--labels", "l", "--videos", "v"],
    "data fetch": ["egooops", "out"],
    "data check": [],
    "data audit": [],
    "data split": ["out", "--key", "k"],
    "data demo": ["out"],
    "run prepare": [],
    "run plan": [],
    "run recipe": [],
    "run missing": ["a"],
    "score": ["p"],
    "compare": ["a", "b"],
    "study raters": [],
    "study diagnose": ["a"],
    "study card": ["a"],
    "study power": [],
    "report": ["a"],
    "view": ["a"],
    "board submit": ["a"],
    "board build": ["inbox"],
    "data rate": ["videos", "--rater", "r"],
    "tasks-path": [],
    "docs": [],
    "run requests": ["out.jsonl", "--model", "m"],
    "run import": ["a", "out", "--requests", "r"],
    "data push": ["org/name"],
    "run baseline": ["d", "--backbone", "m"],
}
"""The words and flags that each command requires."""

SCORING = ("score", "compare", "study diagnose", "report", "board submit", "board build")


def parameters() -> Iterator[tuple[str, click.Parameter]]:
    for name, command in all_commands().items():
        for parameter in command.params:
            yield name, parameter


def wrong_texts(kind: object) -> list[str]:
    if isinstance(kind, click.IntRange):
        return ["x", "", "1.5", str(int(kind.min or 0) - 1)]
    if isinstance(kind, click.FloatRange):
        return ["x", "nan", *([] if kind.max is None else ["inf", str(2 * kind.max)]), str((kind.min or 0) - 1)]
    if isinstance(kind, click.Choice):
        return ["nonsense", ""]
    if isinstance(kind, OutputPath):
        return ["", "/dev/null", *(["/"] if kind.folder is False else [])]
    if isinstance(kind, Setting):
        return ["full_scor", "", "siming_"]
    if not isinstance(kind, OptionType) or (kind.option.default == "" and not kind.option.words):
        return []
    return ["nonsense", "nan", "-1"] if kind.option.words or isinstance(kind.option.default, int | float) else [""]


WRONG = [
    pytest.param(name, flag, text, id=f"{name} {flag} {text!r}")
    for name, parameter in parameters()
    if isinstance(parameter, click.Option)
    for flag in parameter.opts[:1]
    if flag != "--key"  # what follows it is hidden like a secret
    for text in wrong_texts(parameter.type)
]


def test_every_command_has_an_example_that_can_be_read() -> None:
    assert set(WORDS) == set(COMMANDS)
    for name, words in WORDS.items():
        assert isinstance(parse([*name.split(), *words]), dict)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.words)
def test_the_example_and_the_next_step_of_a_command_can_be_read(row: CommandRow) -> None:
    """Both are printed by its help; the next step is that of the example, with the example's values."""
    values = parse(shlex.split(find_command(row.words).example)[1:])
    chosen = values.get("chosen")
    given = values | {"dir": values.get("dir") or (chosen and (chosen.word or chosen.data))}
    text = next_step(row.then, given)
    assert "{" not in text and "None" not in text
    words = shlex.split(text)
    if "lmms-eval" in words[:2]:
        assert words[words.index("--tasks") + 1] in ("siming_full", "siming")
        assert words[words.index("--model") + 1] in ("siming_nano", "siming_reference", "MODEL")
    else:
        assert words[0] == "siming" and parse(words[1:])


def test_help_ends_with_an_example_and_the_next_step(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "build", "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3:] == [
        "Example: siming data build exams --rubric rubric.yaml --labels sheet.xlsx --videos videos", "",
        "Next: siming data check OUT",
    ]  # fmt: skip
    assert main(["score", "--help"]) == 0
    text = capsys.readouterr().out
    titles = ["Positional arguments:", "Flags:", "Data set:", "Scoring:", "Files:", "Example: "]
    assert [text.index(f"\n{title}") for title in titles] == sorted(text.index(f"\n{title}") for title in titles)


def test_one_page_of_help_names_every_command_and_fits_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 100
    assert "lmms-eval --model MODEL --tasks siming" in text
    for name in COMMANDS:
        group, _, last = name.rpartition(" ")
        (line,) = (line for line in lines if line.startswith(f"  {group or last} "))
        assert last in line.replace(",", " ").split()


@pytest.mark.parametrize("group", ["data", "run", "study", "board"])
def test_a_group_lists_its_commands(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([group, "--help"]) == 0
    listed = re.findall(r"^  ([a-z-]+)  ", capsys.readouterr().out, re.MULTILINE)
    assert [f"{group} {name}" for name in listed] == [name for name in COMMANDS if name.startswith(f"{group} ")]


@pytest.mark.parametrize(("name", "flag", "text"), WRONG)
def test_a_wrong_value_is_refused_in_one_line_that_names_it(
    name: str, flag: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*name.split(), *WORDS[name], f"{flag}={text}"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"siming {name}: ") and err.count("\n") == 1
    assert (flag in err or "setting=" in err) and text in err


def test_the_wrong_values_above_cover_every_kind_of_flag() -> None:
    """The list of wrong values is not empty by mistake."""
    shown = {param.id for param in WRONG}
    assert {f"{name} --mapping 'nonsense'" for name in (*SCORING, "study raters")} <= shown
    assert {"data check --jobs '0'", "study power --prevalence '2'", "run prepare --frames '-1'"} <= shown


@pytest.mark.parametrize("name", [name for name in WORDS if all_commands()[name].option_names])
def test_a_wrong_variable_is_refused_in_one_sentence(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIMING_FRAMES", "0")
    assert main([*name.split(), *WORDS[name]]) == 2
    assert capsys.readouterr() == ("", f"siming {name}: SIMING_FRAMES='0' must be from 1 to 1,000,000,000.\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "score",
            "siming score: missing argument 'PREDICTIONS...'; for example: siming score exams runs/qwen "
            "(see siming score --help)\n",
        ),
        ("report --jobs", "siming report: option '--jobs' requires an argument (see siming report --help)\n"),
        (
            "study raters --json=1",
            "siming study raters: option '--json' does not take a value (see siming study raters",
        ),
        (
            "run plan --frame",
            "siming run plan: no such option '--frame'; did you mean one of: '--clip-frames', '--frame-size'",
        ),
        ("run plan --colour red", "siming run plan: no such option '--colour'"),
        ("data check a b", "siming data check: unexpected extra word 'b' (see siming data check --help)\n"),
        ("data", "siming data: a command is missing; the commands: data rate, data template, "),
    ],
)
def test_bad_usage_is_refused_in_one_line(arguments: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments.split()) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(message) and err.count("\n") == 1


def test_no_words_at_all_are_refused_with_the_page_of_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("Usage: siming COMMAND ...")


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ("build", "data build"),
        ("raters", "study raters"),
        ("scor", "score"),
        ("data chekc", "data check"),
        ("study power-analysis", None),
        ("splti", "data split"),
        ("SCORE", "score"),
    ],
)
def test_an_unknown_command_is_refused_and_the_nearest_one_named(
    arguments: str, meant: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments.split(), "exams"]) == 2
    out, err = capsys.readouterr()
    way_out = f"did you mean `siming {meant}`?" if meant else "the commands: "
    assert out == "" and f"there is no command {arguments.split()[-1]!r}; {way_out}" in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ("dta check exams", "siming data check"),
        ("study-raters", "siming study raters"),
        ("check-data exams", "siming data check"),
        ("data_build out", "siming data build"),
        ("run miss out", "siming run missing"),
        ("stdy", "siming study"),
        ("score run --mappin absolute", "--mapping"),
        ("report run --clip_frames 5", None),
        ("run plan --clip_frames 5", "--clip-frames"),
        ("data build out --lables x", "--labels"),
        ("docs first-modle", "first-model"),
    ],
)
def test_the_nearest_command_flag_or_name_is_named(
    arguments: str, meant: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments.split()) in (1, 2)
    said = capsys.readouterr().err
    assert "did you mean" in said.lower() if meant else "no such option '--clip_frames'" in said
    assert (meant or "") in said and said.count("\n") == 1


def test_the_inbox_of_a_board_is_not_taken_for_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["board", "inbox"]) == 2
    said = "siming board: there is no command 'inbox'; the commands: board submit, board build.\n"
    assert capsys.readouterr() == ("", said)


@pytest.mark.parametrize("name", WORDS)
def test_help_lists_the_options_with_their_defaults(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*name.split(), "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    line = COMMANDS[name]
    assert f"Usage: siming {name} " in text and f" {line[0].upper()}{line[1:]}." in text
    for field in all_commands()[name].option_names:
        option = OPTIONS[field]
        assert f"{option.flag} {option.metavar} " in text
        said = f"{option.help.replace('`', '')} (default: {option.variable}, else {option.default_text})"
        assert said.replace(" ", "") in text.replace(" ", "")  # a word with a hyphen may be broken


def test_a_flag_means_the_same_everywhere() -> None:
    """Exceptions: who rates is not whose points are used; frames are prepared by video, not by request."""
    by_flag = {option.flag: name for name, option in OPTIONS.items()}
    others = {
        (command, flag)
        for command in COMMANDS
        for flag in flags(command)
        if flag in by_flag and by_flag[flag] not in all_commands()[command].option_names
    }
    assert others == {
        ("data rate", "--rater"),
        ("run prepare", "--shard"),
    }


def test_every_option_of_a_command_is_a_flag_of_the_commands_that_need_it() -> None:
    asking = {name for name, option in OPTIONS.items() if option.changes == "asking"}
    assert {field for name in WORDS for field in all_commands()[name].option_names} == set(OPTIONS) - asking
    for name in SCORING:
        files = ["prices"] if name in ("score", "report") else []
        assert set(all_commands()[name].option_names) == {"data", "split", *SCORING_OPTIONS, *files}
    without_data = {"data rate", "data template", "data build", "data demo", "data rubric", "run recipe", "run import"}
    without_data |= {"data fetch", "docs", "tasks-path"}
    assert {name for name in WORDS if "data" not in all_commands()[name].option_names} == without_data
    labels = {name for name in WORDS if "--labels" in flags(name)}
    assert labels - {"data build"} == {
        *SCORING,
        "data audit",
        "study raters",
        "study card",
        "study diagnose",
        "study power",
        "run baseline",
    }


def test_a_flag_overrules_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMING_RATER", "rater_a")
    monkeypatch.setenv("SIMING_MAPPING", "proportional")
    values = parse(["score", "p", "--rater", "rater_b", "--data", "exams"])
    assert values["options"] == Options(data="exams", rater="rater_b", mapping="proportional")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["data", "split", "exams", "out", "--key", "k"], ("exams", "out")),
        (["data", "split", "exams", "--key", "k", "out"], ("exams", "out")),
        (["data", "split", "--key", "k", "out"], (None, "out")),
    ],
)
def test_flags_may_stand_between_words(arguments: list[str], expected: tuple[str | None, str]) -> None:
    values = parse(arguments)
    assert (values["chosen"].word, str(values["out"])) == expected


def test_words_of_a_run_are_parts_of_it_and_flags_may_stand_between() -> None:
    for line in ("score exams a b", "score exams --json a --rater x b", "score --mapping absolute exams a b"):
        assert list(map(str, parse(line.split())["predictions"])) == ["exams", "a", "b"]


@pytest.mark.parametrize("words", [["--help"], ["data", "--help"], ["score", "-h"], ["score", "--help"]])
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    heavy = "{'numpy', 'scipy', 'pydantic', 'yaml', 'PIL', 'av', 'jinja2', 'tqdm', 'torch', 'rich'}"
    code = f"import sys; from siming_tasks.cli import main; main({words}); "
    code += f"print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_takes_less_than_a_quarter_of_a_second() -> None:
    code = "import time; from siming_tasks.cli import main; main(['--help']); print(time.process_time())"
    done = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    assert min(float(one.stdout.splitlines()[-1]) for one in done) < 0.25
