"""Hostile replies against the parser: nothing raised, nothing slow, every promise kept.

    python utils/fuzz_parsing.py --replies 100000 --seed 0

Replies come in families. Of some the truth is known: a reply cut anywhere may lose answers but never change one, a
reply in another dress must give every answer, a key written twice with two values loses that step and no other. The
other families are noise, of which only the form of the result is checked. ``--judge N`` adds a perfect judge: every
key, value form and layout of ``tests/parsing/forms.py``, and N mutated replies of each layout; no answer may be read
that the judge did not give. Prints counts by family and status and the slowest replies; exits with 1 on any violation,
which it prints as a Python literal with its seed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tqdm import tqdm

from siming_tasks.common.schema import Answer
from siming_tasks.parsing import MISSING, STATUSES, Parsed, format_answers, parse_reply
from siming_tasks.rubrics import RubricStep, default_rubric

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "parsing"))
import forms

Truth = Mapping[str, float]
Check = Callable[[Parsed], str | None]
Case = tuple[object, Check | None]

SECONDS = 10.0
"""No reply may take longer, however busy the machine."""

BITS = [
    *"{}[]():,;\"'`“”：，\\/#\n\t.-+e0123１２｛｝\ud800\x00\u202e\ufeff",
    *("//", "/*", "*/", "10", "99", "1.5", "-1", "3/5", "NaN", "Infinity", "null", "None", "true", "false", "True"),
    *("correct", "incorrect", "正确", "错误", '"score"', '"scores"', '"verdict"', '"verdicts"', '"error"', '"reason"'),
    *('"cpr_01"', '"cpr_02"', "'aed_01'", "cpr_03", "cpr", '"1"', '"step"', '"id"', "```", "```json", "\\u0031", '\\"'),
    *("<think>", "</think>", "[THINK]", "[/THINK]", "◁think▷", "◁/think▷", "assistantfinal"),
    *("<|channel|>final<|message|>", "<|channel|>analysis<|message|>"),
]


def truth_of(rng: random.Random, steps: Sequence[RubricStep], answer: Answer) -> Truth:
    """Answers on the scale, at random."""
    top = (lambda step: int(step.max_score)) if answer == "score" else (lambda step: 1)
    return {step.id: float(rng.randint(0, top(step))) for step in steps}


def say(truth: Truth, answer: Answer) -> dict[str, int | str]:
    """Answers as they stand in JSON."""
    return {name: (("correct", "incorrect")[int(v)] if answer == "error" else int(v)) for name, v in truth.items()}


def nested(values: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """``{"cpr": {"1": ...}, "aed": ...}``."""
    out: dict[str, dict[str, object]] = {}
    for name, value in values.items():
        skill, _, number = name.partition("_")
        out.setdefault(skill, {})[number.lstrip("0")] = value
    return out


def render(rng: random.Random, truth: Truth, steps: Sequence[RubricStep], answer: Answer) -> str:
    """One of the ways in which models write their answers; all of them say the whole truth."""
    values = say(truth, answer)
    key = "score" if answer == "score" else "verdict"
    reasons = ["ok", 'says "go"', "it's 1/3", "a, b: c", "深度不够：4厘米", "see </think>", ""]
    objects = [{"step": name, key: value, "reason": rng.choice(reasons)} for name, value in values.items()]
    indent = rng.choice([None, 1, 4])

    def dump(value: object) -> str:
        return json.dumps(value, indent=indent, ensure_ascii=rng.random() < 0.5)

    forms: list[Callable[[], str]] = [
        lambda: format_answers(truth, steps, answer),
        lambda: dump(values),
        lambda: dump({f"{key}s": values}),
        lambda: dump({name: {key: value, "reason": rng.choice(reasons)} for name, value in values.items()}),
        lambda: dump({name.upper().replace("_", rng.choice("- ")): value for name, value in values.items()}),
        lambda: dump({"total": 7, "assessment": {f"{key}s": values}}),
        lambda: dump(objects),
        lambda: "\n".join(json.dumps(item) for item in objects),
        lambda: repr(values),
        lambda: "{" + ", ".join(f"{name}: {value}" for name, value in values.items()) + ",}",
        lambda: "｛" + "，".join(f"“{name}”：“{value}”" for name, value in values.items()) + "｝",
        lambda: (
            "{\n" + "\n".join(f'"{name}": {json.dumps(value)}, // cpr_01: 1' for name, value in values.items()) + "\n}"
        ),
    ]
    if len(steps) > 1:
        forms += [
            lambda: dump({f"{key}s": nested(values)}),
            lambda: dump(list(values.values())),
            lambda: dump({f"Step {place}": value for place, value in enumerate(values.values(), start=1)}),
        ]
    if answer == "score":
        forms.append(lambda: dump({step.id: f"{values[step.id]}/{step.max_score:g}" for step in steps}))
    else:
        forms.append(lambda: dump({"errors": {name: value == "incorrect" for name, value in values.items()}}))
    return rng.choice(forms)()


def same(truth: Truth) -> Check:
    """Every answer, and the right one."""
    return lambda parsed: None if parsed.answers == truth else f"answers differ from the truth {dict(truth)}"


def part(truth: Truth) -> Check:
    """No answer but right ones."""
    return lambda parsed: None if parsed.answers.items() <= truth.items() else f"a wrong answer; truth {dict(truth)}"


def whole(rng: random.Random, steps: Sequence[RubricStep], answer: Answer) -> Case:
    """A reply in one of its dresses."""
    truth = truth_of(rng, steps, answer)
    reply = render(rng, truth, steps, answer)
    before = [
        "",
        "Sure!\n",
        "\ufeff",
        "<think>{'score': 1, \"</think>",
        "[THINK]2[/THINK]\n",
        "Here [1]:\n",
        "```json\n",
    ]
    return rng.choice(before) + reply + rng.choice(["", "\n", "\n```", "\n\nDone."]), same(truth)


def cut(rng: random.Random, steps: Sequence[RubricStep], answer: Answer) -> Case:
    """A reply that ends too early."""
    truth = truth_of(rng, steps, answer)
    reply = render(rng, truth, steps, answer)
    return reply[: rng.randrange(len(reply) + 1)], part(truth)


def contradicted(rng: random.Random, steps: Sequence[RubricStep], answer: Answer) -> Case:
    """One step answered twice, with two values."""
    truth = dict(truth_of(rng, steps, answer))
    victim = rng.choice(steps)
    pairs = list(say(truth, answer).items())
    other = 1.0 if truth.pop(victim.id) == 0.0 else 0.0
    pairs.insert(rng.randrange(len(pairs) + 1), next(iter(say({victim.id: other}, answer).items())))
    reply = "{" + ", ".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in pairs) + "}"

    def check(parsed: Parsed) -> str | None:
        well = parsed.answers == truth and parsed.missing == {victim.id: "conflict"}
        return None if well else f"{victim.id} is contradicted and nothing else"

    return reply, check


def mutated(rng: random.Random, steps: Sequence[RubricStep], answer: Answer) -> Case:
    """A reply with a few characters deleted, doubled, replaced or moved."""
    reply = list(render(rng, truth_of(rng, steps, answer), steps, answer))
    for _ in range(rng.randint(1, 12)):
        place, width = rng.randrange(len(reply) + 1), rng.randint(0, 4)
        piece = reply[place : place + width]
        new = rng.choice([[], piece * 2, [rng.choice(BITS)], [chr(rng.randrange(0x110000))], piece[::-1]])
        reply[place : place + width] = new
    return "".join(reply), None


def soup(rng: random.Random, steps: Sequence[RubricStep], answer: Answer) -> Case:
    """Pieces of JSON and of models' markup in any order."""
    return "".join(rng.choices(BITS, k=rng.randint(1, 300))), None


def unicode_noise(rng: random.Random, steps: Sequence[RubricStep], answer: Answer) -> Case:
    """Any code points, lone surrogates included."""
    top = rng.choice([0x80, 0x800, 0x3100, 0x110000])
    return "".join(chr(rng.randrange(top)) for _ in range(rng.randint(0, 400))), None


def nesting(rng: random.Random, steps: Sequence[RubricStep], answer: Answer) -> Case:
    """Deep nests, closed and not, with an answer at the bottom or beside."""
    opening = rng.choice(["{", "[", '{"a":', '[{"cpr_01":', "{[", '{"scores":'])
    depth = rng.choice([10, 63, 64, 65, 1000, 20_000])
    closing = "".join({"{": "}", "[": "]"}.get(char, "") for char in reversed(opening))
    return opening * depth + rng.choice(["", "1", '{"cpr_01": 1}']) + closing * rng.choice([0, depth - 1, depth]), None


def giant(rng: random.Random, steps: Sequence[RubricStep], answer: Answer) -> Case:
    """Up to ten million characters of one pattern."""
    pattern = rng.choice([*BITS, '{"a', '{"a":"', '",', '"   ', "[]", "{}", "\n\n", "{/*", '{"a":1,', "<", "[", "x "])
    pattern += rng.choice(["", "", rng.choice(BITS)])
    size = rng.choice([10_000, 100_000, 1_000_000, 10_000_000])
    head = rng.choice(["", "{", '{"a": "', "[", '{"', '{"a"', "<think>"])
    return head + pattern * (size // max(1, len(pattern))) + rng.choice(["", "}", '{"cpr_01": 1}']), None


def objects(rng: random.Random, steps: Sequence[RubricStep], answer: Answer) -> Case:
    """Objects that are no text."""
    values = say(truth_of(rng, steps, answer), answer)
    text = json.dumps(values)
    others = [None, b"", [], [None], 2, 1.5, True, 10**5000, float("nan"), {"score": None}, {1: 2}, object(), int, ...]
    others += [
        text.encode(),
        text.encode("utf-16"),
        values,
        [values],
        [text],
        (text,),
        list(values.values()),
        rng.randbytes(50),
    ]
    return rng.choice(others), None


FAMILIES = {whole: 15, cut: 25, contradicted: 8, mutated: 28, soup: 12, unicode_noise: 6, nesting: 2, objects: 4}
"""Share in a hundred; giant replies are counted apart."""


def fault(parsed: Parsed, steps: Sequence[RubricStep], answer: Answer) -> str | None:
    """Fault in the form of a result; empty if there is none."""
    tops = {step.id: step.max_score if answer == "score" else 1.0 for step in steps}
    if parsed.status not in STATUSES or not set(parsed.missing.values()) <= set(MISSING):
        return "status or reason outside its closed set"
    if [s.id for s in steps] != sorted([*parsed.answers, *parsed.missing], key=list(tops).index):
        return "answers and missing steps are not the asked steps, each once"
    if (parsed.status == "ok") != (not parsed.missing):
        return "ok, but not everything is answered (or the other way round)"
    if any(type(v) is not float or not 0 <= v <= tops[k] or not v.is_integer() for k, v in parsed.answers.items()):
        return "an answer off its scale"
    return None


def unmutated() -> Iterator[tuple[str, Truth, Sequence[RubricStep], Answer]]:
    """Every key with every value form in every layout."""
    steps = [step for step in default_rubric().steps if step.id in ("cpr_01", "cpr_02", "cpr_03", "aed_01", "aed_02")]
    verdicts = {step.id: float(place % 2) for place, step in enumerate(steps)}
    points = {step.id: float(place % (int(step.max_score) + 1)) for place, step in enumerate(steps)}
    for layout, write in forms.LAYOUTS.items():
        for kinds in forms.VERDICT_KEYS.values():
            for kind, keys in kinds.items():
                for name, verdict in forms.VERDICT_FORMS(kind):
                    if layout == "list" and name.startswith("yes"):
                        continue
                    values = {step_id: verdict(bool(value)) for step_id, value in verdicts.items()}
                    for key in keys:
                        yield write(key, values, steps), verdicts, steps, "error"
        for keys in forms.POINT_KEYS.values():
            for say_points in forms.POINT_FORMS.values():
                values = {step.id: say_points(int(points[step.id]), int(step.max_score)) for step in steps}
                for key in keys:
                    yield write(key, values, steps), points, steps, "score"


def judge(mutations: int, seed: int) -> int:
    """The perfect judge; prints how its replies are read and returns how often an answer is not its."""
    every = default_rubric().steps
    asks = [every, every[:5], every[18:23], every[10:11], every[20:21]]
    counts: dict[str, Counter[str]] = {}
    violations = 0

    def note(family: str, reply: str, truth: Truth, steps: Sequence[RubricStep], answer: Answer) -> None:
        nonlocal violations
        answers = parse_reply(reply, steps, answer).answers
        wrong = part(truth)(Parsed("", answers))
        read = "wrong" if wrong else "whole" if len(answers) == len(steps) else "part" if answers else "none"
        counts.setdefault(family, Counter())[read] += 1
        if wrong:
            violations += 1
            print(f"judge, {family}, {answer}: {wrong}\n  {reply!r:.3000}\n  {dict(answers)}")

    for reply, truth, steps, answer in unmutated():
        note("unmutated", reply, truth, steps, answer)
    changes = sorted(forms.MUTATIONS)
    for layout in tqdm(forms.LAYOUTS, disable=None):
        for number in range(mutations):
            rng = random.Random(f"{seed}/{layout}/{number}")  # noqa: S311
            note(layout, *forms.draw_reply(rng, rng.choice(asks), layout, changes[number % len(changes)]))
    print(f"{'perfect judge':14}" + "".join(f"{read:>15}" for read in ("whole", "part", "none", "wrong")))
    for family, row in counts.items():
        print(f"{family:14}" + "".join(f"{row[read]:15,}" for read in ("whole", "part", "none", "wrong")))
    return violations


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; see the module's first lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=int, default=100_000)
    parser.add_argument("--giant", type=int, default=None, help="how many of them are giant (default: 1 in 500)")
    parser.add_argument("--judge", type=int, default=0, help="mutated replies of a perfect judge for each layout")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    giants = options.replies // 500 if options.giant is None else options.giant
    every = default_rubric().steps
    families = random.Random(options.seed).choices(  # noqa: S311 - nothing secret
        list(FAMILIES), list(FAMILIES.values()), k=options.replies - giants
    )
    counts: dict[str, Counter[str]] = {}
    slowest: list[tuple[float, str, int]] = []
    begin = time.perf_counter()
    violations = judge(options.judge, options.seed) if options.judge else 0
    for number, family in enumerate(tqdm([*families, *[giant] * giants], disable=None)):
        rng = random.Random(f"{options.seed}/{number}")  # noqa: S311
        answer: Answer = rng.choice(["score", "error"])
        steps = rng.choice([every, every[:19], every[rng.randrange(len(every)) :][:1]])
        reply, check = family(rng, steps, answer)
        start = time.perf_counter()
        try:
            parsed = parse_reply(reply, steps, answer)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            parsed, wrong = Parsed("raised"), f"raised {error!r}"
        else:
            wrong = fault(parsed, steps, answer) or (check(parsed) if check else None)
        seconds = time.perf_counter() - start
        if seconds > SECONDS:
            wrong = wrong or f"took {seconds:.1f} s"
        counts.setdefault(family.__name__, Counter())[parsed.status] += 1
        slowest = sorted(
            [*slowest, (seconds, f"#{number} {family.__name__}", len(reply) if isinstance(reply, str) else 0)]
        )[-3:]
        if wrong:
            violations += 1
            print(f"#{number} {family.__name__} {answer} {len(steps)} steps: {wrong}\n  {reply!r:.3000}\n  {parsed}")
    print(f"{'':14}" + "".join(f"{status:>15}" for status in STATUSES))
    for name, row in counts.items():
        print(f"{name:14}" + "".join(f"{row[status]:15,}" for status in STATUSES))
    for seconds, name, size in reversed(slowest):
        print(f"slow: {seconds:.3f} s, {name}, {size:,} characters")
    seconds = time.perf_counter() - begin
    print(f"{options.replies:,} replies, seed {options.seed}, {seconds:.0f} s: {violations} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
