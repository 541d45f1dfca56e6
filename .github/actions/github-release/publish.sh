#!/usr/bin/env bash
# A draft, its assets, then visible: nobody sees half a release. Run again, it finishes its own draft or finds it done.
set -euo pipefail

state=$(gh release view "$TAG" --json isDraft --jq .isDraft 2>/dev/null || echo none)
if [[ $state == false ]]; then
  echo "$TAG is released already"
  exit 0
fi
[[ $state == none ]] && gh release create "$TAG" --verify-tag --draft --title "$TAG" --notes-file "$RUNNER_TEMP/release-notes.md"
gh release upload "$TAG" "$ASSETS"/* --clobber
gh release edit "$TAG" --draft=false --notes-file "$RUNNER_TEMP/release-notes.md"
