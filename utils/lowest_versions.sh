#!/usr/bin/env bash
# Installs the oldest version of everything that requirements-*.txt declare, and runs fast tests with them: all but those
# of the reader of replies, which needs no library. 10 minutes on two busy cores, and 3 to 9 to install.
#
#     utils/lowest_versions.sh PYTHON [PYTEST ARGUMENTS]      utils/lowest_versions.sh 3.10 tests/common
#
# PYTHON is a version (3.10, 3.11, 3.12) or an interpreter. What lmms-eval and the test libraries ask for is as new as
# the declared versions allow, so that some are newer than their floor. Needs uv, the package registry, and 6 GB (torch).
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:?PYTHON: a version or an interpreter}
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export UV_LINK_MODE=copy

uv venv --quiet --python "$python" "$work/venv"
uv pip compile --quiet --python "$work/venv/bin/python" --resolution lowest-direct requirements-*.txt -o "$work/lowest.txt"
uv pip install --quiet --python "$work/venv/bin/python" -r "$work/lowest.txt"
uv pip install --quiet --python "$work/venv/bin/python" --no-deps -e .
# what the tests need beside it, without a change to what is there
uv pip install --quiet --python "$work/venv/bin/python" -c "$work/lowest.txt" \
    pytest pytest-timeout hypothesis jsonschema statsmodels json-repair starlette uvicorn
for module in accelerate av cv2 datasets decord pandas scipy.stats sklearn torch transformers; do
    "$work/venv/bin/python" -W ignore -c "import $module" || echo "$module: cannot be imported at its oldest version"
done
[ $# -gt 0 ] || set -- --ignore tests/benchmark/parsing
"$work/venv/bin/python" -m pytest -q -m fast "$@"
