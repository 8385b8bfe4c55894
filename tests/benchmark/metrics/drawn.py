"""Random data sets, drawn with :mod:`random`, whose numbers stay the same from version to version."""

import math
import random
from collections.abc import Iterator

import numpy as np

from siming_tasks import ScoreMatrix


def matrices() -> Iterator[tuple[str, ScoreMatrix]]:
    """Forty random data sets: half points, missing labels and answers, clusters, one class only."""
    for number in range(40):
        rng = random.Random(number)
        videos, steps = rng.randint(4, 60), rng.randint(3, 33)
        increment = 0.5 if number % 4 == 1 else 1.0
        answer = "error" if number % 2 else "score"
        top = [float(rng.choice((1, 2, 3, 5))) for _ in range(steps)]
        unlabelled, unanswered = rng.choice((0, 0.1)), rng.choice((0, 0.03, 0.3))
        ability = [rng.gauss(0, 0.5) for _ in range(videos)]
        reference, predicted = (np.full((videos, steps), math.nan) for _ in range(2))
        for v in range(videos):
            for s in range(steps):
                share = min(max(0.8 + ability[v] / 2 + rng.gauss(0, 0.4), 0), 1)
                points = min(math.floor(share * top[s] / increment + 0.4) * increment, top[s])
                if number % 10 == 9:  # nobody makes a mistake
                    points = top[s]
                agrees = rng.random() < 0.6
                said = points if agrees else float(rng.randint(0, int(top[s])))
                if rng.random() >= unlabelled:
                    reference[v, s] = points
                if rng.random() >= unanswered:
                    predicted[v, s] = said if answer == "score" else float(said < top[s])
        clusters = tuple(f"s{v // 3}" for v in range(videos)) if number % 3 == 2 else ()
        names = tuple(f"v{v:03d}" for v in range(videos))
        yield (
            f"{number:02d}",
            ScoreMatrix(
                video_ids=names,
                step_ids=tuple(f"s{s:02d}" for s in range(steps)),
                skills=tuple("cpr" if s < steps / 2 else "aed" for s in range(steps)),
                max_score=np.array(top),
                reference=reference,
                predicted=predicted,
                asked=np.ones((videos, steps), bool),
                answer=answer,
                clusters=clusters or names,
                unit="student" if clusters else "video",
            ),
        )
