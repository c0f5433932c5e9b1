#!/usr/bin/env bash
# Step 11: rotate your API key, and switch to the new one while both are in force.
source ./psi.sh
: "${EXTERNAL_ID:?is not set}"

target=/v1/users/$EXTERNAL_ID
changes='{"occupation": "Architect"}' key=$(psi_uuid)

# The secret is shown this once, in a response that is not stored: no Idempotency-Key. If it is lost, rotate again.
psi_send POST /v1/sandbox/api-keys/rotate '{"overlapHours": 24}' none || exit
[[ $psi_status == 201 ]] || { echo "$psi_status $psi_body" >&2; exit 1; }
# In place of your secret store.
(umask 077 && jq -r '@sh "export PSI_API_KEY=\(.apiKey) PSI_SECRET=\(.secret)"' <<<"$psi_body" >new_key.env) || exit
jq -r '"the old key ends at \(.expiresAt)"' <<<"$psi_body"

psi_send PATCH "$target" "$changes" "$key" || exit
echo "old key: $psi_status"

source ./new_key.env
# A retry of what the old key began: Idempotency-Keys are shared by all keys of a partner.
psi_send PATCH "$target" "$changes" "$key" || exit
[[ $psi_head =~ [Ii]dempotent-[Rr]eplayed:\ *([a-z]+) ]]
echo "new key: $psi_status, replayed: ${BASH_REMATCH[1]-}"
