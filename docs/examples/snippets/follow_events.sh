#!/usr/bin/env bash
# Follows your events and keeps the latest status of each user. After a restart it continues where it ended. Needs jq.
source ./psi.sh

pause_seconds=2
# In place of your database, where cursor and statuses are best saved in one transaction.
cursor=events.cursor statuses=statuses.json
[[ -e $statuses ]] || echo '{}' >"$statuses"

# The three jq programs read a page; $known has the statuses. After a crash a page comes again, so twice must be the
# same as once. Times are RFC 3339 in UTC with six fraction digits: texts sort as they do.
news='.items[] | .data as $d
  | if .type == "user.statusChanged" then
      select($d.updatedAt > ($known[0][$d.externalId].updatedAt // "")) | "\($d.externalId) is \($d.status)"
    elif .type == "user.requirementsChanged" then # what they are is read with the user
      "\($d.externalId) has \($d.openRequirements) open requirements"
    elif .type == "user.transactionsRecorded" then
      "\($d.externalId) has \($d.count) more conversions since \($d.oldestCreatedAt)"
    elif .type == "user.documentPublished" then
      "\($d.externalId) has document \($d.documentId)"
    elif .type == "user.documentWithdrawn" then
      "\($d.externalId) no longer has document \($d.documentId)"
    else empty end # new types may appear: ignore them'
latest='reduce (.items[] | select(.type == "user.statusChanged") | .data) as $d ($known[0];
  if $d.updatedAt > (.[$d.externalId].updatedAt // "") then .[$d.externalId] = $d else . end)'

# save FILE: replaces it by standard input at once: after a crash it is the old or the new one.
save() { cat >"$1.new" && mv "$1.new" "$1"; }

while true; do
  query='limit=100'
  [[ ! -e $cursor ]] || query+="&cursor=$(<"$cursor")"
  psi_status=''
  psi_send GET "/v1/events?$query" || (($? != 2)) || exit 1
  case $psi_status in
    200) ;;
    '' | 429 | 500 | 503) sleep "${psi_retry_after:-$pause_seconds}"; continue ;;
    # A cursor that is too old is one of these: read your users again, and remove the file.
    *) echo "$psi_body" >&2; exit 1 ;;
  esac
  jq -r --slurpfile known "$statuses" "$news" <<<"$psi_body" || exit
  # Only now: what was not handled is read again.
  new_statuses=$(jq --slurpfile known "$statuses" "$latest" <<<"$psi_body") || exit
  save "$statuses" <<<"$new_statuses"
  jq -j '.nextCursor' <<<"$psi_body" | save "$cursor"
  [[ $(jq '.hasMore' <<<"$psi_body") == true ]] || sleep "$pause_seconds"
done
