#!/usr/bin/env bash
# Step 5: read the events until the approval.
source ./psi_events.sh
: "${EXTERNAL_ID:?is not set}"

is_approval() {
  jq -e --arg id "$EXTERNAL_ID" '.data | .externalId == $id and .status == "active"' <<<"$1" >/dev/null
}

follow is_approval
