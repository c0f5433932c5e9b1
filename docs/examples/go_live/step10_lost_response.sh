#!/usr/bin/env bash
# Step 10: lose the response to a write, ask whether it has happened, and retry it.
source ./psi.sh
: "${EXTERNAL_ID:?is not set}"

target=/v1/users/$EXTERNAL_ID
changes='{"addressLine1": "1 Elgin St", "city": "Ottawa", "postalCode": "K1P 5W1"}'
# Store both before you send: a retry needs the same key and the same bytes.
key=$(psi_uuid)

# 2: nothing could be sent.
psi_send PATCH "$target" "$changes" "$key" '' 'X-Sandbox-Fault: lostAnswer' 2>/dev/null || (($? != 2)) || exit
[[ -n ${psi_status-} ]] || echo 'no response'

psi_send GET "/v1/idempotency-keys/$key" || exit
# The service's own not_found: it has not happened so far. Retry it under the same key: under a new one it might happen
# twice. A 404 of a proxy says nothing.
own_id=$(tr -d '\r' <<<"$psi_head" | sed -n 's/^[Xx]-[Rr]equest-[Ii]d: *//p')
if [[ $psi_status == 200 ]]; then
  echo 'it has happened'
elif [[ -n $own_id && $(jq -r '"\(.error) \(.requestId)"' <<<"$psi_body") == "not_found $own_id" ]]; then
  echo 'it has not happened'
else
  echo "It cannot be told: $psi_status $psi_body" >&2
  exit 1
fi

psi_send PATCH "$target" "$changes" "$key" || exit
[[ $psi_head =~ [Ii]dempotent-[Rr]eplayed:\ *([a-z]+) ]]
echo "retry: $psi_status, replayed: ${BASH_REMATCH[1]-}"
