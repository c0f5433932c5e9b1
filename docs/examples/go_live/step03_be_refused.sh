#!/usr/bin/env bash
# Step 3: be refused, for invalid fields and for a minor.
source ./psi.sh
: "${EXTERNAL_ID:?is not set}"

for changes in '{"email": "nobody", "nickname": "Ada"}' '{"dateOfBirth": "2020-01-01"}'; do
  psi_send PATCH "/v1/users/$EXTERNAL_ID" "$changes" || exit
  jq -r --arg status "$psi_status" '"\($status) \(.error): \(.message)"' <<<"$psi_body"
  # Your program reads the code, people the message.
  jq -r '.fieldErrors[]? | "  \(.field): \(.code): \(.message)"' <<<"$psi_body"
done
