#!/usr/bin/env bash
# What differs from the release before this one, as `rocmatrix diff` says it: the last one that is on the Hub, whatever tags
# there are in git, for a tag may never have been released.
set -euo pipefail

notes=$RUNNER_TEMP/release-notes.md
said=$(rocmatrix diff --before --out "$SET" "$TAG")
mapfile -t lines <<<"$said"
printf '    %s\n' "${lines[@]}" >"$notes" # as code: names of symbols are no markup
# names of symbols and files are shown, and none of them is a command to the runner
token=$(</proc/sys/kernel/random/uuid)
printf '::stop-commands::%s\n' "$token"
cat "$notes"
printf '::%s::\n' "$token"
