#!/usr/bin/env bash
# Step 1: sign a request, and make sure that the key is one of the sandbox. Needs jq, as all steps do.
source ./psi.sh

psi_send GET /v1/ping || exit
[[ $psi_status == 200 ]] || { echo "$psi_status $psi_body" >&2; exit 1; }
[[ $(jq -r '.mode' <<<"$psi_body") == sandbox ]] || { echo 'This key is live: do not go on with it.' >&2; exit 1; }
jq -r '"partner \(.partner), mode \(.mode)"' <<<"$psi_body"
