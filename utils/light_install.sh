#!/usr/bin/env bash
# Makes the light install in an environment of its own, as docs/howto/elsewhere.md says it, and runs what it promises there. Prints
# the seconds, the megabytes that were fetched and those on disk (with pip), and a line per command.
#
#     utils/light_install.sh PYTHON      utils/light_install.sh python3.11
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CACHE_DIR="$work/pip" XDG_CACHE_HOME="$work/cache"

"${1:?PYTHON: an interpreter}" -m venv "$work/venv"
. "$work/venv/bin/activate"
command=$(sed -n '/^<!-- light -->/,/^```$/p' docs/howto/elsewhere.md | grep '^pip')
echo "\$ $command"
started=$SECONDS
bash -ec "$command" 2>&1 | grep -v '^WARNING: Location' >"$work/log" || { cat "$work/log"; exit 1; }
pip install --quiet starlette uvicorn  # what the extra `station` has
echo "$((SECONDS - started)) s, $(du -sm "$work/venv" | cut -f1) MB on disk"
pip download --quiet --no-deps --dest "$work/files" -r <(pip freeze --exclude-editable) >/dev/null 2>&1
echo "$(du -sm "$work/files" | cut -f1) MB to fetch"
python utils/light_commands.py "$work/out"
