#!/usr/bin/env bash
# Tries the converter for Every Eval Ever with its real package: lays the folder over it, runs its test and style, converts a run of
# made-up answers about SYNTHETIC exams, and validates what was written.
#
#     utils/try_every_eval_ever.sh PYTHON      utils/try_every_eval_ever.sh python3.12
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 XDG_CACHE_HOME="$work/cache"

"${1:?PYTHON: an interpreter, 3.12 or newer}" -m venv "$work/venv"
. "$work/venv/bin/activate"
pip install --quiet every_eval_ever==0.3.0 pytest ruff -r requirements-light.txt 2>&1 | grep -v '^WARNING: Location' || true
pip install --quiet --no-deps -e . 2>&1 | grep -v '^WARNING: Location' || true

python utils/make_upstream.py "$work/out"
tree=$(python -c 'import every_eval_ever; print(every_eval_ever.__path__[0])')
cp -r "$work/out/every_eval_ever/siming/every_eval_ever/converters/siming" "$tree/converters/"
printf 'line-length = 80\n[lint]\nselect = ["E", "F", "I"]\nignore = ["E501", "E402"]\n[format]\nquote-style = "single"\n' >"$work/ruff.toml"
ruff check --config "$work/ruff.toml" "$work/out/every_eval_ever"
ruff format --check --config "$work/ruff.toml" "$work/out/every_eval_ever"
pytest -q -p no:cacheprovider -c /dev/null --rootdir "$work" "$work/out/every_eval_ever/siming/tests"

siming data demo "$work/exams" --videos 4 --short --no-contact >"$work/log" 2>&1
python - "$work" <<'END'
import json, sys
from pathlib import Path
from siming_tasks import open_dataset
work = Path(sys.argv[1])
lines = []
for video in open_dataset(work / "exams").videos:
    scores = {step.step_id: step.scores["rater_b"] for step in video.steps}
    lines.append(json.dumps({"id": f"full_score/{video.video_id}", "reply": json.dumps({"scores": scores})}) + "\n")
(work / "judge.jsonl").write_text("".join(lines))
END
cd "$work"
python -m every_eval_ever.converters.siming --log_path judge.jsonl --data exams --output_dir data --include_samples
every_eval_ever validate $(find data -name '*.json*')
