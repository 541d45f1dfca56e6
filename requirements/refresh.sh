#!/usr/bin/env bash
# Write the locks of this folder anew from pyproject.toml: requirements/refresh.sh [uv pip compile options, e.g. --upgrade]
#
# Which index is asked is the configuration's decision; none is written into the locks. A version that is still allowed
# stays as it is unless --upgrade or --upgrade-package NAME says otherwise.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v uv >/dev/null; then
  echo "requirements/refresh.sh: uv is not on PATH; it is in the test environment: run python3 scripts/run_tests.py --fast once," >&2
  echo "then PATH=\"\$(echo .rocmatrix/test-py3.*/bin):\$PATH\" requirements/refresh.sh" >&2
  exit 3
fi

compile() {
  local lock=$1
  shift
  UV_CUSTOM_COMPILE_COMMAND=requirements/refresh.sh uv pip compile --quiet --universal --generate-hashes \
    --python-version 3.11 --no-emit-index-url --output-file "requirements/$lock" "${options[@]}" "$@"
}

options=("$@")
compile pip.txt --group pip
compile run.txt pyproject.toml --extra embedded --extra emulator
compile release.txt pyproject.toml --extra release --constraints requirements/run.txt
compile watch.txt pyproject.toml --extra embedded --extra emulator --extra release --constraints requirements/run.txt --constraints requirements/release.txt
compile test.txt pyproject.toml --extra embedded --extra emulator --extra hub --extra release --group test --constraints requirements/run.txt --constraints requirements/release.txt
compile torch.txt --group torch --constraints requirements/test.txt
