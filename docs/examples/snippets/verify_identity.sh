#!/usr/bin/env bash
# Records how a user's identity was verified, and lists the records: numbers are not given back. Needs jq.
source ./psi.sh

external_id='cust-1001'
verification='{"method": "photoDocument", "verifiedOn": "2026-01-15", "documentType": "driversLicence",
  "documentNumber": "B1234-56789-01234", "issuingCountry": "CA", "issuingSubdivision": "ON", "expiresOn": "2031-04-30"}'

# request METHOD TARGET [BODY]: sends it; a response that is no success ends the script.
request() {
  psi_send "$@" || exit
  [[ $psi_status == 20? ]] || { echo "$psi_status $psi_body" >&2; exit 1; }
}

target=/v1/users/$(jq -rn --arg id "$external_id" '$id | @uri')/verifications
request POST "$target" "$verification"
request GET "$target"
jq -r '.items[] | "\(.verifiedOn) \(.method) until \(.expiresOn // "no date")"' <<<"$psi_body"
