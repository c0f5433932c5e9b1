#!/usr/bin/env bash
# Changes a user's address: send only the fields that change. Needs jq.
source ./psi.sh

external_id='cust-1001'
changes='{"addressLine1": "1 Elgin St", "city": "Ottawa", "postalCode": "K1P 5W1"}'

psi_send PATCH "/v1/users/$(jq -rn --arg id "$external_id" '$id | @uri')" "$changes" || exit
echo "$psi_status $psi_body"
