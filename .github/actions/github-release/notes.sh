#!/usr/bin/env bash
# What differs from the release before this one, as `rocmatrix diff` says it; the first release has nothing to differ from.
set -euo pipefail

# the same kernel's tags: `v*`, or `<name>-v*` where a repository holds several
pattern='v[0-9]*'
[[ $TAG =~ ^(.+-)v[0-9] ]] && pattern="${BASH_REMATCH[1]}v[0-9]*"
previous=$(git describe --tags --abbrev=0 --match "$pattern" "$TAG^" 2>/dev/null || true)
notes=$RUNNER_TEMP/release-notes.md
{
  if [[ -z $previous ]]; then
    echo "The first release."
  else
    echo "What differs from $previous:"
    echo
    rocmatrix diff --out "$SET" "$previous" | sed 's/^/    /'
  fi
} >"$notes"
cat "$notes"
