#!/usr/bin/env bash
# Step 7: page through conversions while one arrives late, and miss none.
source ./psi_events.sh
: "${EXTERNAL_ID:?is not set}"

conversion='{
  "from": {"currency": "CAD", "amount": "100.00"},
  "to": {"currency": "USD", "amount": "71.82"},
  "rate": "0.7182"
}'

# record [CREATED_AT]: simulates a conversion, of now by default. Sets id.
record() {
  local body
  body=$(jq --arg at "${1-}" '{items: [. + if $at == "" then {} else {createdAt: $at} end]}' <<<"$conversion")
  psi_send POST "/v1/sandbox/users/$EXTERNAL_ID/transactions" "$body" || exit
  [[ $psi_status == 201 ]] || { echo "$psi_status $psi_body" >&2; exit 1; }
  id=$(jq -r '.items[0].conversionId' <<<"$psi_body")
}

# pages LIMIT FUNCTION: calls FUNCTION with each page of the list, newest first, until it fails.
pages() {
  local list="/v1/users/$EXTERNAL_ID/transactions?limit=$1" page
  local target=$list
  while [[ -n $target ]]; do
    psi_send GET "$target" || exit
    [[ $psi_status == 200 ]] || { echo "$psi_status $psi_body" >&2; exit 1; }
    page=$psi_body
    "$2" "$page" || return 0
    target=$(jq -r --arg list "$list" '.nextCursor // empty | "\($list)&cursor=\(@uri)"' <<<"$page")
  done
}

recorded='' seen='' late=''
for _ in 1 2 3 4 5; do
  record
  recorded+="$id"$'\n'
done

read_page() {
  seen+=$(jq -r '.items[].conversionId' <<<"$1")$'\n'
  [[ -z $late ]] || return 0
  # As old as one that has been read: the following pages do not have it.
  record "$(jq -r '.items[0].createdAt' <<<"$1")"
  late=$id
}

report() {
  local once
  once=$(sort <<<"$seen" | uniq -u | grep -cFx -f <(printf '%s' "$recorded"))
  echo "$once of 5 once each, $(grep -cFx -- "$late" <<<"$seen") of 1 late"
}

pages 2 read_page
report

# read_new PAGE: notes the conversions since $oldest; fails where there are others.
read_new() {
  seen+=$(jq -r --arg oldest "$oldest" '.items[] | select(.createdAt >= $oldest).conversionId' <<<"$1" |
    grep -vFx -f <(printf '%s' "$seen"))$'\n'
  jq -e --arg oldest "$oldest" 'all(.items[]; .createdAt >= $oldest)' <<<"$1" >/dev/null
}

# Reads from the newest conversion down to the oldest that the event is about.
read_again() {
  oldest=$(jq -r --arg id "$EXTERNAL_ID" 'select(.type == "user.transactionsRecorded").data
    | select(.externalId == $id).oldestCreatedAt' <<<"$1")
  [[ -z $oldest ]] || pages 100 read_new
  grep -qFx -- "$late" <<<"$seen"
}

follow read_again
report
