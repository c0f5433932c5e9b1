#!/usr/bin/env bash
# Retries a write until the service accepts or refuses it. It takes effect once.
source ./psi.sh

attempts=5

# write METHOD TARGET BODY IDEMPOTENCY_KEY: each attempt has the same key and body, and a new signature.
write() {
  local attempt
  for ((attempt = 1; ; attempt++)); do
    psi_status='' psi_retry_after=''
    # Without a response, the write may have taken effect: retry. 2: nothing was sent.
    psi_send "$@" || (($? != 2)) || return 2
    [[ -n $psi_status && ! $psi_status =~ ^(429|500|503)$ ]] && return
    ((attempt < attempts)) || break
    sleep "${psi_retry_after:-$((2 ** (attempt - 1)))}"
  done
  [[ -n $psi_status ]]
}

write PATCH /v1/users/cust-1001 '{"city": "Ottawa", "postalCode": "K1P 5W1"}' "$(psi_uuid)" || exit
echo "$psi_status $psi_body"
