#!/usr/bin/env bash
# Step 2: create a user, and note it among your own.
source ./psi.sh
: "${EXTERNAL_ID:?is not set}"

users=users.json # in place of your database
user='{
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

psi_send POST /v1/users "$(jq --arg id "$EXTERNAL_ID" '{externalId: $id} + .' <<<"$user")" "$(psi_uuid)" || exit
[[ $psi_status == 201 ]] || { echo "$psi_status $psi_body" >&2; exit 1; }
[[ -e $users ]] || echo '{}' >"$users"
statuses=$(jq --argjson result "$psi_body" '. + {($result.externalId): $result.status}' "$users")
echo "$statuses" >"$users"
jq -r '"\(.externalId) is \(.status)"' <<<"$psi_body"
