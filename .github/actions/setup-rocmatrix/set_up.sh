#!/usr/bin/env bash
# Set up the private environment of the toolkit from its lock (hashes required) and put its commands on the job's path.
set -euo pipefail

export ROCMATRIX_ENVIRONMENTS=$RUNNER_TEMP/rocmatrix-environments
commands=$(PYTHONPATH="$TOOLKIT/scripts" python3 -P -m private_environment "$ENVIRONMENT")
printf '%s\n' "$commands" >>"$GITHUB_PATH"
"$commands/rocmatrix" --version
