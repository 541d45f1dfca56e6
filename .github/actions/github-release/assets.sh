#!/usr/bin/env bash
# Checksums of every file that was published, how each cell is served and was tested, the bill of materials. Output: `folder`.
set -euo pipefail

folder=$RUNNER_TEMP/release-assets
rm -rf "$folder"
mkdir -p "$folder"
(cd "$SET/kernels" && find . -type f -path '*/build/*' -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum) >"$folder/checksums.txt"
[[ -s $folder/checksums.txt ]] || { echo "nothing was published: no file below $SET/kernels" >&2; exit 7; }
for coverage in "$SET"/kernels/*/coverage.json; do
  name=${coverage%/coverage.json}
  cp "$coverage" "$folder/coverage-${name##*/}.json"
  cp "$name/sbom.cdx.json" "$folder/sbom-${name##*/}.cdx.json"
done
printf 'folder=%s\n' "$folder" >>"$GITHUB_OUTPUT"
