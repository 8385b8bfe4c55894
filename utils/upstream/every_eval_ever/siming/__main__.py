"""``python -m every_eval_ever.converters.siming``: convert runs of SiMing-Bench."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from every_eval_ever.cli import EVALUATOR_RELATIONSHIP_CHOICES
from every_eval_ever.converters.common.publication import (
    publish_evaluation_logs,
)
from every_eval_ever.converters.siming.adapter import (
    COLLECTION,
    SOURCE_FACTS,
    SimingAdapter,
)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description='Convert runs of SiMing-Bench to every_eval_ever format'
    )
    parser.add_argument(
        '--log_path',
        required=True,
        help="a run's folder of sample logs, a folder of such, or a prediction file",
    )
    parser.add_argument(
        '--data', required=True, help='folder of the data set, with its labels'
    )
    parser.add_argument('--output_dir', default='data')
    parser.add_argument(
        '--include_samples',
        action='store_true',
        help='also a line per request, which holds its reference',
    )
    parser.add_argument('--resamples', type=int, default=1000)
    parser.add_argument('--source_organization_name', default='')
    parser.add_argument('--source_organization_url')
    parser.add_argument('--source_organization_logo_url')
    parser.add_argument(
        '--evaluator_relationship',
        default='other',
        choices=EVALUATOR_RELATIONSHIP_CHOICES,
    )
    args = parser.parse_args(argv)

    with tempfile.TemporaryDirectory(prefix='eee-siming-') as staging:
        adapter = SimingAdapter(
            args.data,
            staging,
            include_samples=args.include_samples,
            resamples=args.resamples,
        )
        logs = adapter.transform_from_directory(
            args.log_path, {key: getattr(args, key) for key in SOURCE_FACTS}
        )
        paths = publish_evaluation_logs(
            logs,
            args.output_dir,
            adapter.uuids,
            staged_output_dir=Path(staging) / 'data',
            collection_override=COLLECTION,
        )
    for path in paths:
        print(path)
    print(f'Converted {len(paths)} evaluation log(s).')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
