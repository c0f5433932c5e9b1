#!/usr/bin/env bash
# Reads your feed of events, keeps your users' statuses, and remembers where it ended. From step 5 on. Needs jq.
source ./psi.sh

# In place of your database, where both are best saved in one transaction.
cursor=events.cursor users=users.json

# follow [IS_LAST]: handles new events: up to one for which the function IS_LAST succeeds, for which it waits a minute,
# or by default all there are.
follow() {
  local is_last=${1-} attempt query page event is_done statuses
  for ((attempt = 0; attempt < 60; attempt++)); do
    query='limit=100' is_done=''
    [[ ! -e $cursor ]] || query+="&cursor=$(<"$cursor")"
    psi_send GET "/v1/events?$query" || exit
    [[ $psi_status == 200 ]] || { echo "$psi_status $psi_body" >&2; exit 1; }
    page=$psi_body
    [[ -n $is_last || $(jq '.hasMore' <<<"$page") == true ]] || is_done=1
    while IFS= read -r event; do
      jq -r '"\(.type) \(.data.externalId) \(.data.status // "")"' <<<"$event"
      if [[ -n $is_last ]] && "$is_last" "$event"; then is_done=1; fi
    done < <(jq -c '.items[]' <<<"$page")
    statuses=$(jq --argjson page "$page" '. + ($page.items | map(select(.type == "user.statusChanged").data)
      | map({(.externalId): .status}) | add // {})' "$users") || exit
    echo "$statuses" >"$users"
    # Only now: after a crash, what was not handled comes again.
    jq -j '.nextCursor' <<<"$page" >"$cursor"
    [[ -z $is_done ]] || return 0
    [[ $(jq '.hasMore' <<<"$page") == true ]] || sleep 1
  done
  echo 'The event did not arrive within a minute.' >&2
  exit 1
}
