#!/usr/bin/env bash
# A virtual environment with the newest torch of an index, and the kernels client at the version of our lock; output `python`.
# Nothing is pinned here by intent: whatever users get today is what has to load. The job that runs this holds no right.
set -euo pipefail

locked=$(sed -n 's/^\(kernels==[0-9A-Za-z.]*\).*/\1/p' "$GITHUB_ACTION_PATH/../../../requirements/release.txt")
[[ -n $locked ]] || { echo "requirements/release.txt does not say which kernels client is locked" >&2; exit 3; }
environment=$RUNNER_TEMP/newest-torch
python3 -m venv --clear "$environment"
install=("$environment/bin/python" -m pip install --quiet --disable-pip-version-check)
# the index alone: with another one beside it pip would take whichever has the higher version
"${install[@]}" --index-url "$INDEX" torch
"${install[@]}" "$locked"
"$environment/bin/python" -c 'import torch; print("torch", torch.__version__)'
printf 'python=%s\n' "$environment/bin/python" >>"$GITHUB_OUTPUT"
