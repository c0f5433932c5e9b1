#!/usr/bin/env bash
# Step 12: be limited, wait as long as the response says, and go on.
source ./psi.sh

# The limit is simulated for the first attempt only.
for fault in 'X-Sandbox-Fault: tooManyRequests' ''; do
  psi_send GET /v1/ping '' '' '' ${fault:+"$fault"} || exit
  echo "$psi_status"
  if [[ $psi_status == 429 ]]; then
    echo "waiting for $psi_retry_after s"
    sleep "$psi_retry_after"
  fi
done
