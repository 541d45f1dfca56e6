#!/usr/bin/env bash
# What differs from the release of this kernel before this one, as `rocmatrix diff` says it; the first release has nothing to
# differ from.
set -euo pipefail

# whole tags: `gemm-v*` as a pattern has `gemm-v2-v1.0.0` too, a tag of the kernel gemm-v2
version='v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?'
if [[ $TAG =~ ^$version$ ]]; then prefix=; else prefix=$KERNEL-; fi
tags=$(git tag --merged "$TAG^" 2>/dev/null || true) # the first commit of all has none before it
matches=()
while read -r tag; do
  if [[ $tag == "$prefix"* && ${tag#"$prefix"} =~ ^$version$ ]]; then matches+=(--match "$tag"); fi
done <<<"$tags"
previous=
[[ ${#matches[@]} == 0 ]] || previous=$(git describe --tags --abbrev=0 "${matches[@]}" "$TAG^")
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
