import sys
from pathlib import Path

import pytest

from siming_tasks.benchmark.rubrics import Criteria, RubricStep

sys.path.insert(0, str(Path(__file__).parent))  # for replyset, which stands beside the tests

CRITERIA = Criteria(full="all of it", partial="some of it", fail="none of it")


def step(step_id: str, max_score: float, name: str, name_zh: str | None = None) -> RubricStep:
    return RubricStep(
        id=step_id, name=name, requirement="Does it.", max_score=max_score, criteria=CRITERIA, name_zh=name_zh
    )


@pytest.fixture(scope="session")
def steps() -> tuple[RubricStep, ...]:
    """Five steps of two skills: maxima 2, 3, 10, 5, 2.5."""
    return (
        step("cpr_01", 2, "Scene safety", "环境安全"),
        step("cpr_02", 3, "Check responsiveness"),
        step("cpr_03", 10, "Compression depth"),
        step("aed_01", 5, "Power on"),
        step("aed_02", 2.5, "Pad placement"),
    )
