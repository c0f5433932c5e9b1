#!/usr/bin/env bash
# Step 8: have a document published, wait for its event, download it, and check its SHA-256.
source ./psi_events.sh
: "${EXTERNAL_ID:?is not set}"

# request METHOD TARGET [BODY]: sends it; a response that is no success ends the script.
request() {
  psi_send "$@" || exit
  [[ $psi_status == 20? ]] || { echo "$psi_status $psi_body" >&2; exit 1; }
}

request POST "/v1/sandbox/users/$EXTERNAL_ID/documents" '{"type": "accountStatement", "title": "Statement of January"}'
published=$(jq -r '.documentId' <<<"$psi_body")
is_published() { [[ $(jq -r '.data.documentId' <<<"$1") == "$published" ]]; }
follow is_published

request GET "/v1/users/$EXTERNAL_ID/documents?limit=1"
IFS=$'\t' read -r id sha256 title < <(jq -r '.items[0] | [.documentId, .sha256, .title] | @tsv' <<<"$psi_body")
# Into a file: Bash's variables cannot hold the bytes.
request GET "/v1/users/$EXTERNAL_ID/documents/$id" '' '' "$id.pdf"
read -r found _ < <(openssl dgst -sha256 -r "$id.pdf")
[[ $found == "$sha256" ]] || { rm "$id.pdf"; echo 'Not what was listed: download it again.' >&2; exit 1; }
echo "$title: $(($(wc -c <"$id.pdf"))) bytes, SHA-256 is right"
