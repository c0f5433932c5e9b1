#!/usr/bin/env bash
# Step 4: simulate the decisions of compliance, a rejection and an approval.
source ./psi.sh
: "${EXTERNAL_ID:?is not set}"

for status in rejected pendingCompliance active; do
  psi_send POST "/v1/sandbox/users/$EXTERNAL_ID/status" "{\"status\": \"$status\"}" || exit
  [[ $psi_status == 200 ]] || { echo "$psi_status $psi_body" >&2; exit 1; }
  jq -r '"\(.externalId) is \(.status)"' <<<"$psi_body"
done
