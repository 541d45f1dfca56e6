#!/usr/bin/env bash
# Of the kernel that the tag releases: checksums of every published file, how each cell is served and was tested, the bill
# of materials. Output: `folder`.
set -euo pipefail

kernels=("$SET"/kernels/*/coverage.json)
kernel=
for coverage in "${kernels[@]}"; do
  name=$(basename "$(dirname "$coverage")")
  # the only one, or the longest name that the tag begins with, as `rocmatrix release` chooses
  if [[ -f $coverage && (${#kernels[@]} == 1 || $TAG == "$name-v"* && ${#name} -gt ${#kernel}) ]]; then
    kernel=$name
  fi
done
[[ -n $kernel ]] || { echo "nothing was published: $TAG is of no kernel below $SET/kernels" >&2; exit 7; }

folder=$RUNNER_TEMP/release-assets
rm -rf "$folder"
mkdir -p "$folder"
(cd "$SET/kernels" && find "$kernel/build" -type f -printf '%p\0' | LC_ALL=C sort -z | xargs -0r sha256sum) >"$folder/checksums.txt"
[[ -s $folder/checksums.txt ]] || { echo "nothing was published: no file below $SET/kernels/$kernel/build" >&2; exit 7; }
cp "$SET/kernels/$kernel/coverage.json" "$folder/coverage-$kernel.json"
cp "$SET/kernels/$kernel/sbom.cdx.json" "$folder/sbom-$kernel.cdx.json"
printf 'folder=%s\n' "$folder" >>"$GITHUB_OUTPUT"
