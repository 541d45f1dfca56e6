#!/usr/bin/env bash
# What is left is what actions/checkout v7 leaves: the commit of the event, without other branches, and the tag's name on
# the commit itself instead of the annotated tag (actions/checkout#290), so that a workflow has to fetch it.
set -euo pipefail
if [[ -n $ELSEWHERE ]]; then
  echo "the stand-in of actions/checkout knows neither path nor repository" >&2
  exit 1
fi
if [[ ! -e .git ]]; then # act makes no copy for a checkout that names what it wants
  git clone --quiet --no-hardlinks "$ROCMATRIX_REHEARSED" .
fi
git config --local --unset-all http.extraheader || true
commit=$(git rev-parse --verify --quiet "${REF:-HEAD}^{commit}") || {
  echo "a checkout of $REF finds no such commit" >&2
  exit 1
}
git -c advice.detachedHead=false checkout --quiet --force --detach "$commit"
if [[ $DEPTH == 1 ]]; then
  git tag --list | xargs --no-run-if-empty git tag --delete >/dev/null
else
  git tag --list | while read -r tag; do git update-ref "refs/tags/$tag" "$tag^{commit}"; done
fi
