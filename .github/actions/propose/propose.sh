#!/usr/bin/env bash
# Commit the named files on a branch of our own and open a pull request for it, unless nothing changed.
set -euo pipefail

# shellcheck disable=SC2153 # PATHS is the action's input
mapfile -t paths < <(sed '/^[[:space:]]*$/d' <<<"$PATHS")
git add -- "${paths[@]}"
# what is not staged by now, new files too: `git diff` would not see those
changed=$(git status --porcelain --untracked-files=all)
if elsewhere=$(grep -v '^[^ ?] ' <<<"$changed") && [[ -n $elsewhere ]]; then
  printf 'files changed that were not to change:\n%s\n' "$elsewhere" >&2
  exit 1
fi
if git diff --cached --quiet; then
  echo "nothing changed"
  exit 0
fi
git -c user.name="github-actions[bot]" -c user.email="41898282+github-actions[bot]@users.noreply.github.com" commit --quiet -m "$TITLE"
login=$(printf 'x-access-token:%s' "$GH_TOKEN" | base64 -w0)
echo "::add-mask::$login"
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="http.$GITHUB_SERVER_URL/.extraheader" GIT_CONFIG_VALUE_0="AUTHORIZATION: basic $login"
git push --quiet --force origin "HEAD:refs/heads/$BRANCH"
open=$(gh pr list --head "$BRANCH" --state open --json isCrossRepository)
# a branch of that name in somebody's fork is not ours
own=$(python3 -I -c 'import json, sys; print(sum(not each["isCrossRepository"] for each in json.load(sys.stdin)))' <<<"$open")
if ((own == 0)); then
  gh pr create --head "$BRANCH" --title "$TITLE" --body "Made by $GITHUB_WORKFLOW, run $GITHUB_RUN_ID. Read the difference before merging: what is unverified is marked so."
fi
