"""Table of all commands: the one place of their words, lines of help, examples and next steps."""

from __future__ import annotations

from typing import NamedTuple

_LMMS_EVAL = "lmms-eval --model siming_nano --tasks siming_full --output_path runs/nano --log_samples"

_REFERENCE = _LMMS_EVAL.replace("nano", "reference")
"""A judge for every rubric; siming_nano knows the steps of the embedded one alone."""


class CommandRow(NamedTuple):
    """A command.

    Attributes:
        words: it is called by.
        module: of ``siming_tasks.cli`` with the function of its last word.
        line: its line of help.
        example: words and flags of a usual call.
        then: the command that usually follows; ``{name}`` stands for the value of a parameter, and a flag whose value
            was not given is left out.
    """

    words: str
    module: str
    line: str
    example: str
    then: str


TABLE = tuple(CommandRow(*row) for row in (
    ("score", "score", "score predictions or sample logs without a model",
     "exams runs/qwen", "siming report {predictions} --data {dir} --out report"),
    ("compare", "compare", "compare runs over the same videos, with paired intervals",
     "runs/qwen runs/gpt", "siming report {run_paths} --data {dir} --out report"),
    ("report", "report", "make a folder of pages from finished runs",
     "runs/qwen runs/gpt --out report", "siming view {out}"),
    ("view", "report", "serve a report and its videos to this machine",
     "report", "siming study card RUN"),
    ("data rate", "rate", "open a local page on which a physician scores exams",
     "videos --rater 'Dr. Li' --rubric rubric.yaml",
     "siming data build exams --rubric {rubric} --labels {dir}.ratings.sqlite --videos {dir}"),
    ("data template", "build", "make a workbook in which physicians enter points and spans",
     "sheet.xlsx --rubric rubric.yaml --videos videos",
     "siming data build exams --rubric {rubric} --labels {out} --videos {videos}"),
    ("data build", "build", "make a data set folder from a rubric, a table of labels and videos",
     "exams --rubric rubric.yaml --labels sheet.xlsx --videos videos", "siming data check {out}"),
    ("data fetch", "fetch", "make a data set folder of a public set of real procedures (EgoOops, EgoEMS, ...)",
     "egooops exams --videos recordings", "siming data check {out}"),
    ("data check", "check", "list everything that is wrong with a data set folder",
     "exams", f"SIMING_DATA={{dir}} {_REFERENCE}"),
    ("data audit", "audit", "find what tells a data set's labels without any picture",
     "exams", "siming run baseline {dir} --backbone facebook/dinov2-base"),
    ("data split", "folders", "split a data set into a public folder and a private label file",
     "exams public --key labels.json", "siming data push {out} ORG/NAME"),
    ("data push", "folders", "upload a public folder of `data split` to the Hugging Face Hub",
     "public ORG/NAME", "siming run plan --data {repo}"),
    ("data demo", "folders", "make a SYNTHETIC data set: simulated exams whose labels are known",
     "exams --videos 12 --short", f"SIMING_DATA={{out}} {_LMMS_EVAL}"),
    ("data rubric", "check", "check a rubric file, or show it as a sheet",
     "check rubric.yaml", "siming data template sheet.xlsx --rubric {file} --videos videos"),
    ("run plan", "plan", "estimate the requests, tokens, disk space, time and cost of a run",
     "--data exams --frames 64", "siming run prepare --data {dir} --frames {frames}"),
    ("run prepare", "prepare", "decode all frames, or cut all clips, of a data set before a run",
     "--data exams --jobs 4", _LMMS_EVAL),
    ("run recipe", "plan", "show how to run the paper's models and their successors",
     "qwen3-vl-30b", "siming run plan --data exams --model {model}"),
    ("run missing", "prepare", "count the requests of a run that have no answer yet, and print what asks them",
     "runs/qwen --data exams", "siming score {folder} --data {dir}"),
    ("run requests", "exchange", "write the exact requests of a run as a batch job, to be answered without lmms-eval",
     "exams job.jsonl --model gpt-4o", "siming run import RESULTS... replies.jsonl --requests ASKED"),
    ("run import", "exchange", "turn the results of a batch job into a file that can be scored",
     "results.jsonl replies.jsonl --requests job_asked.jsonl", "siming score {out}"),
    ("run baseline", "baseline", "train a baseline on a data set's own labels and predict the exams it has not seen",
     "exams --backbone facebook/dinov2-base", "siming score {out} --data {dir}"),
    ("study raters", "study", "measure how far the physicians agree, with intervals, or how far they are with rating",
     "exams", "siming study power"),
    ("study diagnose", "study", "break a run down by step, severity, history and exam decision",
     "runs/qwen", "siming report {path} --data {dir} --out report"),
    ("study card", "study", "print a run's numbers, intervals and limits for a model's README",
     "runs/qwen", "siming docs publish"),
    ("study power", "study", "plan a data set: the smallest difference that so many videos would show",
     "--videos 100 --effect 0.05", "siming data template sheet.xlsx --rubric rubric.yaml --videos videos"),
    ("board submit", "board", "pack a run's predictions for a leaderboard, or check such an archive",
     "runs/qwen --out qwen.zip --organization 'Our lab'", "siming docs publish"),
    ("board build", "board", "build a static leaderboard from submitted archives",
     "inbox --data exams --out board", "siming docs publish"),
    ("docs", "docs", "list the pages of the documentation, or print one",
     "first-model", "siming docs troubles"),
    ("tasks-path", "docs", "print the folder of the task files, for lmms-eval --include_path",
     "", 'lmms-eval --include_path "$(siming tasks-path)" --model MODEL --tasks siming'),
))  # fmt: skip
"""Every command, in the order of the help."""

COMMANDS = {row.words: row.line for row in TABLE}
"""Every command and its line of help."""

GROUPS = {
    "data": "make, check and publish a data set",
    "run": "prepare, divide and exchange the runs of models",
    "study": "study raters and runs",
    "board": "submit to a leaderboard and build one",
}
