#!/usr/bin/env bash
# Step 9: switch to another API key while both are in force.
source ./psi.sh
: "${EXTERNAL_ID:?is not set}" "${PSI_NEW_API_KEY:?is not set}" "${PSI_NEW_SECRET:?is not set}"

target=/v1/users/$EXTERNAL_ID
changes='{"occupation": "Architect"}' key=$(psi_uuid)

psi_send PATCH "$target" "$changes" "$key" || exit
echo "old key: $psi_status"

PSI_API_KEY=$PSI_NEW_API_KEY PSI_SECRET=$PSI_NEW_SECRET
# A retry of what the old key began: Idempotency-Keys are shared by all keys of a partner.
psi_send PATCH "$target" "$changes" "$key" || exit
[[ $psi_head =~ [Ii]dempotent-[Rr]eplayed:\ *([a-z]+) ]]
echo "new key: $psi_status, replayed: ${BASH_REMATCH[1]-}"
