#!/usr/bin/env bash
# Say where rocmatrix of the right commit lies, and under which key its caches are kept: outputs `toolkit` and `key`.
#
# An action that is used as `$/.github/actions/setup-rocmatrix` comes with the whole repository at the commit of the
# workflow that is running. TOOLKIT_REF names another one, by its full hash: a branch would be another toolkit tomorrow.
set -euo pipefail

toolkit=$(cd "$GITHUB_ACTION_PATH/../../.." && pwd)
if [[ -n $TOOLKIT_REF ]]; then
  if ! [[ $TOOLKIT_REF =~ ^[0-9a-f]{40}$ && $TOOLKIT_REPOSITORY =~ ^[A-Za-z0-9][A-Za-z0-9_.-]*/[A-Za-z0-9_][A-Za-z0-9_.-]*$ ]]; then
    echo "toolkit-ref takes the full hash of a commit (40 hexadecimal digits), and toolkit-repository OWNER/NAME" >&2
    exit 2
  fi
  toolkit=$RUNNER_TEMP/rocmatrix-$TOOLKIT_REF
  git init --quiet "$toolkit"
  git -C "$toolkit" fetch --quiet --depth 1 "$GITHUB_SERVER_URL/$TOOLKIT_REPOSITORY" "$TOOLKIT_REF"
  git -C "$toolkit" checkout --quiet FETCH_HEAD
fi

# what decides the content of the caches: the locks, and what the compiler's own libraries are built from
content=$(cd "$toolkit" && find requirements src/rocmatrix/toolchain -type f ! -name '*.pyc' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum)
{
  printf 'toolkit=%s\n' "$toolkit"
  printf 'key=rocmatrix-%s-%s-%s\n' "$ENVIRONMENT" "$RUNNER_OS-$RUNNER_ARCH" "${content:0:32}"
} >>"$GITHUB_OUTPUT"
