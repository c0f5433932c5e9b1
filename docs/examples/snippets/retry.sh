#!/usr/bin/env bash
# Sends a write until the service has taken it, or refused it for good. It takes effect once.
source ./psi.sh

attempts=5

# write METHOD TARGET BODY IDEMPOTENCY_KEY: each attempt has the same key and the same body, and is signed anew.
write() {
  local attempt
  for ((attempt = 1; ; attempt++)); do
    psi_status='' psi_retry_after=''
    # Where no answer came, whether it took effect nobody knows: the next attempt tells. 2: nothing was sent.
    psi_send "$@" || (($? != 2)) || return 2
    [[ -n $psi_status && $psi_status != 429 && $psi_status != 503 ]] && return
    ((attempt < attempts)) || break
    sleep "${psi_retry_after:-$((2 ** (attempt - 1)))}"
  done
  [[ -n $psi_status ]]
}

write PATCH /v1/users/cust-1001 '{"city": "Ottawa", "postalCode": "K1P 5W1"}' "$(psi_uuid)" || exit
echo "$psi_status $psi_body"
