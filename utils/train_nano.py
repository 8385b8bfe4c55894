"""Train the nano judge from nothing: ``torchrun --nproc-per-node 2 utils/train_nano.py WORK``.

Two processes of one thread are faster than one of two. Five stages, each resumable: frames are drawn, exams are
simulated without pictures, the frame encoder is trained, what it misreads is measured on looks of their own, and the
judge is trained on the simulated states as the encoder would have read them. ``export`` then writes the weights. Seeds
and looks are those of no demo and no test.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

STAGES = ("frames", "exams", "encoder", "residuals", "judge", "export")


def main() -> None:
    """Run the stages asked for, or all in order."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="folder for drawn frames and checkpoints (about 6 GB)")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=STAGES)
    parser.add_argument("--looks", type=int, default=480, help="exams drawn for the encoder")
    parser.add_argument("--exams", type=int, default=16000, help="exams simulated without pictures for the judge")
    parser.add_argument("--encoder-steps", type=int, default=6400, help="batches of 64 frames")
    parser.add_argument("--judge-steps", type=int, default=9000, help="batches of 16 exams")
    parser.add_argument(
        "--from-package", action="store_true", help="keep the package's encoder and go on from its judge"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes that draw and simulate")
    parser.add_argument("--out", type=Path, help="folder of the weights (default: the package's)")
    options = parser.parse_args()
    # Big tensors are made and dropped at every step: without these, half the time goes into fresh pages.
    if os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(1 << 33)) and not os.environ.get("SIMING_NANO_STARTED"):
        os.environ |= {"MALLOC_TRIM_THRESHOLD_": str(1 << 33), "SIMING_NANO_STARTED": "1"}
        os.execv(sys.executable, [sys.executable, *sys.argv])

    import torch
    from nano_ranks import RANK, start, wait

    torch.set_num_threads(1)
    start()
    work: Path = options.work
    work.mkdir(parents=True, exist_ok=True)
    if options.from_package and not RANK:
        from nano_fit_encoder import copy_encoder

        copy_encoder(work)
    for stage in options.stages:
        if stage in ("encoder", "residuals", "judge") or not RANK:
            run(stage, options)
        wait()


def run(stage: str, options: argparse.Namespace) -> None:
    """One stage; what is there already is not made again."""
    work: Path = options.work
    if stage in ("frames", "exams"):
        from nano_data import make_exams, make_frames

        make = make_frames if stage == "frames" else make_exams
        make(work, options.looks if stage == "frames" else options.exams, options.jobs)
    elif stage in ("encoder", "residuals"):
        from nano_fit_encoder import fit_encoder, measure_residuals

        if stage == "encoder":
            fit_encoder(work, options.encoder_steps)
        else:
            measure_residuals(work)
    elif stage == "judge":
        from nano_fit_judge import fit_judge

        fit_judge(work, options.judge_steps, from_package=options.from_package)
    else:
        from nano_write import write_weights

        write_weights(work, options.out)


if __name__ == "__main__":
    main()
