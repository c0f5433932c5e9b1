#!/usr/bin/env bash
# Step 9: add a webhook, have a test sent to it, verify what arrives, and remove the webhook.
source ./psi.sh

for setting in PSI_WEBHOOK_URL PORT TLS_CERT TLS_KEY; do
  [[ -n ${!setting-} ]] || { echo "$setting is not set" >&2; exit 1; }
done

# request METHOD TARGET [BODY]: sends it; a response that is no success ends the script.
request() {
  psi_send "$@" || exit
  [[ $psi_status == 20? ]] || { echo "$psi_status $psi_body" >&2; exit 1; }
}

# serve: answers HTTPS requests with the CGI program, one after the other.
serve() {
  while true; do
    openssl s_server -quiet -accept "127.0.0.1:$PORT" -naccept 1 -cert "$TLS_CERT" -key "$TLS_KEY" \
      <"$folder/response" 2>"$folder/errors" | answer >"$folder/response"
    sleep 0.1
  done
}

# answer: reads an HTTP request, and prints the response.
answer() {
  local line length=0 status
  while IFS= read -r line && line=${line%$'\r'} && [[ -n $line ]]; do
    case ${line,,} in
      content-length:*) length=${line#*: } ;;
      webhook-id:*) export HTTP_WEBHOOK_ID=${line#*: } ;;
      webhook-timestamp:*) export HTTP_WEBHOOK_TIMESTAMP=${line#*: } ;;
      webhook-signature:*) export HTTP_WEBHOOK_SIGNATURE=${line#*: } ;;
    esac
  done
  status=$(head -c "$length" | CONTENT_LENGTH=$length bash receive_webhook.sh 2>&3 | tr -d '\r\n')
  printf 'HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n' "${status#Status: }"
  cat >/dev/null # until the service has closed the connection
}

# The secret is shown this once, in a response that is not stored: no Idempotency-Key.
request POST /v1/sandbox/webhooks "$(jq -n --arg url "$PSI_WEBHOOK_URL" '{url: $url}')" none
webhook=/v1/sandbox/webhooks/$(jq -r '.webhookId' <<<"$psi_body")
jq -r '"webhook \(.webhookId) is \(.state)"' <<<"$psi_body"
PSI_WEBHOOK_SECRET=$(jq -r '.secret' <<<"$psi_body")
export PSI_WEBHOOK_SECRET

folder=$(mktemp -d)
mkfifo "$folder/response"
set -m # the receiver has a process group of its own, which ends as a whole
serve 3>&1 >/dev/null &
receiver=$!
finish() {
  kill -- "-$receiver" && wait "$receiver" || true
  rm -r "$folder"
} 2>/dev/null
trap finish EXIT

for _ in 1 2 3 4 5; do
  request POST "$webhook/test" '{}'
  [[ $(jq '.status' <<<"$psi_body") != 204 ]] || break
  sleep 1 # the receiver may still be starting
done
result=$psi_body
jq -r '"test: status \(.status // "none"), error \(.error // "none")"' <<<"$result"
request DELETE "$webhook"
echo 'webhook removed'
[[ $(jq '.status' <<<"$result") == 204 ]]
