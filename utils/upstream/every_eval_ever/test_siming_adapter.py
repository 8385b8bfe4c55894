"""Runs of SiMing-Bench become records: values, state and place, without a network."""

import json
from pathlib import Path

import pytest

pytest.importorskip('siming_tasks')

from every_eval_ever.cli import main as cli
from every_eval_ever.converters.siming.__main__ import main

RUBRIC = """\
schema_version: 1
rubric_id: tiny
version: '1'
title: Tiny
skills:
  - id: one
    name: One
    steps:
"""
STEP = """\
      - id: {}
        name: Step
        requirement: Does it.
        max_score: 2
        criteria: {{full: Well., partial: Half. (-1), fail: Not.}}
        errors: [{{id: {}.not, observable: does not, deduct: 2}}]
"""
POINTS = [(0, 2), (2, 2), (2, 0), (0, 0)]
STEPS = ('st_01', 'st_02')


@pytest.fixture
def exams(tmp_path: Path) -> Path:
    """Four made-up exams of two steps."""
    folder = tmp_path / 'exams'
    folder.mkdir()
    rubric = RUBRIC + ''.join(STEP.format(step, step) for step in STEPS)
    (folder / 'rubric.yaml').write_text(rubric)
    (folder / 'dataset.yaml').write_text(
        'name: tiny\nversion: "1"\nlicense: CC0-1.0\nsynthetic: true\n'
        'languages: [en]\n'
    )
    lines = []
    for number, points in enumerate(POINTS):
        steps = [
            {
                'step_id': step,
                'start': float(place),
                'end': place + 1.0,
                'score': {'consensus': float(value)},
            }
            for place, (step, value) in enumerate(zip(STEPS, points))
        ]
        lines.append(
            {
                'video_id': f'v{number}',
                'media': f'media/v{number}.mp4',
                'duration': 4.0,
                'synthetic': True,
                'steps': steps,
            }
        )
    (folder / 'videos.jsonl').write_text(
        ''.join(json.dumps(line) + '\n' for line in lines)
    )
    return folder


def convert(exams: Path, points: list[tuple[int, int]]) -> tuple[dict, Path]:
    """The record of answers to all exams, and its file."""
    answers = [
        {
            'id': f'full_score/v{number}',
            'reply': json.dumps({'scores': dict(zip(STEPS, each))}),
        }
        for number, each in enumerate(points)
    ]
    run = exams.parent / 'judge.jsonl'
    run.write_text(''.join(json.dumps(line) + '\n' for line in answers))
    out = exams.parent / 'data'
    words = ['--log_path', str(run), '--data', str(exams)]
    words += ['--output_dir', str(out), '--resamples', '50']
    words += ['--source_organization_name', 'Lab', '--include_samples']
    assert main(words) == 0
    (file,) = [path for path in out.rglob('*.json')]
    return json.loads(file.read_text()), file


def test_a_judge_who_is_right_has_kappa_one_and_says_synthetic(exams: Path):
    record, file = convert(exams, POINTS)
    values = {
        result['metric_config']['metric_kind']: result['score_details']['score']
        for result in record['evaluation_results']
    }
    assert values['qwk'] == 1.0 and values['plcc'] == pytest.approx(1.0)
    assert record['source_metadata']['source_organization_name'] == 'Lab'
    assert (
        record['source_metadata']['additional_details']['synthetic'] == 'true'
    )
    assert file.parent.parts[-4:] == (
        'data',
        'siming-bench',
        'unspecified',
        'judge',
    )
    samples = file.with_name(f'{file.stem}_samples.jsonl')
    assert len(samples.read_text().splitlines()) == len(POINTS)
    assert cli(['validate', str(file), str(samples)]) == 0


def test_kappa_is_the_one_of_hand(exams: Path):
    """Four labels are none and four all of the points; one answer is wrong.

    Disagreement is 1 of 8; by chance (4 * 5 + 4 * 3) / 64, a half.
    """
    record, _ = convert(exams, [*POINTS[:2], (2, 2), POINTS[3]])
    (kappa,) = [
        result['score_details']['score']
        for result in record['evaluation_results']
        if result['metric_config']['metric_kind'] == 'qwk'
    ]
    assert kappa == pytest.approx(0.75)


def test_a_value_that_is_undefined_is_named_and_is_no_zero(exams: Path):
    record, _ = convert(exams, [(2, 2)] * 4)
    kinds = {
        result['metric_config']['metric_kind']
        for result in record['evaluation_results']
    }
    assert 'plcc' not in kinds
    details = record['source_metadata']['additional_details']
    assert any(key.endswith('full_score/plcc') for key in details)
