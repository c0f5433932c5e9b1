#!/usr/bin/env bash
# Downloads the newest document of a user, and checks its SHA-256. Needs jq.
source ./psi.sh

documents="/v1/users/$(jq -rn --arg id 'cust-1001' '$id | @uri')/documents"
psi_send GET "$documents?limit=1" || exit
[[ $psi_status == 200 ]] || { echo "$psi_status $psi_body" >&2; exit 1; }
read -r id type size sha256 < <(jq -r '.items[] | "\(.documentId) \(.contentType) \(.sizeBytes) \(.sha256)"' <<<"$psi_body")
[[ -n $id ]] || { echo 'no documents'; exit; }

# The file name is yours to choose; the title is for people. Until it is checked, the file has another name.
trap 'rm -f "$id.part"' EXIT
psi_send GET "$documents/$id" '' '' "$id.part" || exit
[[ $psi_status == 200 ]] || { echo "$psi_status $(<"$id.part")" >&2; exit 1; }
read -r found _ < <(openssl dgst -sha256 -r "$id.part")
if [[ $(wc -c <"$id.part") -ne $size || $found != "$sha256" ]]; then
  echo 'Not what was listed: fetch it again.' >&2
  exit 1
fi
mv "$id.part" "$id"
echo "$id $type $size bytes"
