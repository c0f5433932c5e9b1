#!/usr/bin/env bash
# Step 6: be asked for information, see why the user is on hold, and answer with an update.
source ./psi_events.sh
: "${EXTERNAL_ID:?is not set}"

# request METHOD TARGET [BODY]: sends it; a response that is no success ends the script.
request() {
  psi_send "$@" || exit
  [[ $psi_status == 20? ]] || { echo "$psi_status $psi_body" >&2; exit 1; }
}

# simulate WHAT BODY: does what compliance would do, which only the sandbox allows.
simulate() { request POST "/v1/sandbox/users/$EXTERNAL_ID/$1" "$2"; }

# Prints what the program would show to the user.
show() {
  request GET "/v1/users/$EXTERNAL_ID"
  jq -r '"\(.status): \(.statusReason)",
    (.requirements[] | "  \(.code), \(.state): \(.message) (\(.fields | join(", ")))")' <<<"$psi_body"
}

# The message is not in the event: read the user.
is_asked() {
  jq -e --arg id "$EXTERNAL_ID" '.data | .externalId == $id and (.openRequirements // 0) > 0' <<<"$1" >/dev/null
}

is_approved() {
  jq -e --arg id "$EXTERNAL_ID" '.data | .externalId == $id and .status == "active"' <<<"$1" >/dev/null
}

simulate status '{"status": "suspended", "reasonCode": "profileChanged"}'
simulate requirements '{"code": "addressUnclear", "fields": ["addressLine1", "postalCode"],
  "message": "Which apartment is it?"}'
follow is_asked
show

# All fields that are asked for, in one update, also those whose value was right.
request PATCH "/v1/users/$EXTERNAL_ID" '{"addressLine1": "100 King St W, Apt 5", "postalCode": "M5X 1A9"}'
show

simulate status '{"status": "active"}'
follow is_approved
show
