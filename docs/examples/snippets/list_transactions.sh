#!/usr/bin/env bash
# Prints all transactions of a user, page by page, newest first. Needs jq.
source ./psi.sh

list="/v1/users/$(jq -rn --arg id 'cust-1001' '$id | @uri')/transactions?limit=100"
page=$list count=0
while [[ -n $page ]]; do
  psi_send GET "$page" || exit
  [[ $psi_status == 200 ]] || { echo "$psi_body" >&2; exit 1; }
  count=$((count + $(jq '.items | length' <<<"$psi_body")))
  jq -r '.items[] | "\(.conversionId) \(.createdAt) \(.from.amount) \(.from.currency)"' <<<"$psi_body"
  # Send the cursor unchanged.
  page=$(jq -r --arg list "$list" '.nextCursor // empty | "\($list)&cursor=\(@uri)"' <<<"$psi_body")
done
((count > 0)) || echo 'no conversions'
