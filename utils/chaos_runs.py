"""Random kills on two equal runs that share a folder of replies: is anything asked twice without need, or lost?

    python utils/chaos_runs.py [ROUNDS] [SEED]      about a minute a round

A server on loopback answers slowly and counts. Each round starts two lmms-eval commands over the same requests, kills
one or the other (SIGKILL) at random moments, starts it again, and lets both end. A request may be asked once more for
each kill that met it in flight; everything else must be asked once, and both runs must end with every answer.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "plugin"))

from serving import Server, completion

REQUESTS, AT_ONCE = 40, 3


def main(rounds: int = 3, seed: int = 0) -> int:
    """Number of rounds that went wrong."""
    rng, wrong = random.Random(seed), 0  # noqa: S311
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(rounds):
            wrong += round_of_kills(rng, Path(scratch, str(number)), Path(scratch, "cache"), number)
    return wrong


def round_of_kills(rng: random.Random, folder: Path, cache: Path, number: int) -> int:
    """1 if something was lost or asked twice without need, else 0; prints a line."""
    answer_seconds = rng.choice([0.3, 0.6])

    def answer(*_: object) -> tuple[int, object]:
        time.sleep(answer_seconds)
        return completion(json.dumps({"score": 1}))

    server, model = Server(answer), rng.choice(["openai", "async_openai"])
    threads = {"openai": "num_concurrent", "async_openai": "num_cpus"}[model]
    arguments = f"model_version=m,api_key=k,max_retries=1,retry_backoff_s=0,{threads}={AT_ONCE},base_url={server.url}"

    def start(name: str) -> subprocess.Popen[bytes]:
        command = ["lmms-eval", "--model", model, "--model_args", arguments, "--tasks", "siming_clip_score"]
        command += ["--limit", str(REQUESTS), "--log_samples", "--output_path", str(folder / name)]
        env = {**os.environ, "SIMING_CACHE": str(cache), "SIMING_REPLIES": str(folder / "kept"),
               "SIMING_DEMO_VIDEOS": "2", "SIMING_CLIP_FRAMES": "2", "SIMING_FRAME_SIZE": "96"}  # fmt: skip
        log = folder.with_name(f"{folder.name}-{name}.log").open("ab")
        return subprocess.Popen(command, env=env, stdout=log, stderr=log)

    folder.mkdir(parents=True)
    running = {name: start(name) for name in ("a", "b")}
    kills = 0
    for _ in range(rng.randrange(2, 5)):
        asked = len(server.received) + rng.randrange(1, 12)
        while len(server.received) < asked and any(process.poll() is None for process in running.values()):
            time.sleep(0.02)
        victims = [name for name, process in running.items() if process.poll() is None]
        if not victims:
            break
        victim = rng.choice(victims)
        running[victim].send_signal(signal.SIGKILL)
        running[victim].wait()
        kills += 1
        running[victim] = start(victim)
    codes = [process.wait() for process in running.values()]
    asked_twice = {key: count for key, count in Counter(server.received).items() if count > 1}
    answered = []
    for name in running:
        lines = [line for log in (folder / name).rglob("*_samples_*.jsonl") for line in log.read_text().splitlines()]
        answered.append(sum(json.loads(line)["siming_stderr"]["status"] == "ok" for line in lines))
    extra = sum(asked_twice.values()) - len(asked_twice)
    fine = codes == [0, 0] and answered == [REQUESTS] * 2 and extra <= kills * AT_ONCE
    leases = len(list((folder / "kept").glob("*/leases/*")))
    print(
        f"round {number}: {model}, {answer_seconds} s an answer, {kills} kills: {len(server.received)} asked for "
        f"{REQUESTS} requests ({extra} again, at most {kills * AT_ONCE} were in flight), answers {answered}, "
        f"{leases} leases left{'' if fine else ': WRONG'}",
        flush=True,
    )
    server.gone()
    return not fine


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
