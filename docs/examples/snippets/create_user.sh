#!/usr/bin/env bash
# Registers a user, or prints the field errors. Needs jq.
source ./psi.sh

user='{
  "externalId": "cust-1001",
  "email": "ada@example.com",
  "firstName": "Ada",
  "lastName": "Byron",
  "dateOfBirth": "1990-12-10",
  "addressLine1": "100 King St W",
  "city": "Toronto",
  "postalCode": "M5X 1A9",
  "province": "ON",
  "country": "CA",
  "occupation": "Engineer",
  "isCiroAffiliate": false
}'
# Store it with the user before you send: with the same key, a retry is safe.
idempotency_key=$(psi_uuid)

psi_send POST /v1/users "$user" "$idempotency_key" || exit
if [[ $psi_status == 201 ]]; then
  jq -r '"\(.externalId) is \(.status), userId \(.userId)"' <<<"$psi_body"
else
  jq -r '.fieldErrors[]? | "\(.field): \(.message)"' <<<"$psi_body"
  jq -r '"\(.error): \(.message) Request \(.requestId)."' <<<"$psi_body" >&2
  exit 1
fi
