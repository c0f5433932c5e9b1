#!/usr/bin/env bash
# Shows why a user has its status and what compliance asks for, and answers it. Needs jq.
source ./psi.sh

user='cust-1001'
# In place of a form of yours, which shows the message and asks for the fields.
entered='{"addressLine1": "100 King St W, Apt 5", "postalCode": "M5X 1A9"}'
note='The income is the salary of the employer on file.'

# request METHOD TARGET [BODY]: sends it; a response that is no success ends the script.
request() {
  psi_send "$@" || exit
  [[ $psi_status == 200 ]] || { echo "$psi_status $psi_body" >&2; exit 1; }
}

path=/v1/users/$(jq -rn --arg id "$user" '$id | @uri')
request GET "$path"
jq -r '"\(.externalId) is \(.status) (\(.statusReason // "no reason"))"' <<<"$psi_body"
while IFS= read -r requirement; do
  jq -r '"\(.code) \(.state) until \(.dueAt)", "  \(.message // "no message") \(.fields | join(", "))"' <<<"$requirement"
  [[ $(jq -r '.state' <<<"$requirement") == open ]] || continue
  if [[ $(jq '.fields == []' <<<"$requirement") == true ]]; then
    id=$(jq -r '.requirementId' <<<"$requirement")
    request POST "$path/requirements/$id/response" "$(jq -n --arg note "$note" '{note: $note}')"
  # All of its fields in one update, also those whose value stays.
  elif body=$(jq -e --argjson entered "$entered" \
    '.fields as $f | select($f - ($entered | keys) == []) | $entered | with_entries(select(.key | IN($f[])))' \
    <<<"$requirement"); then
    request PATCH "$path" "$body"
  fi
done < <(jq -c '.requirements[]' <<<"$psi_body")
request GET "$path"
jq -r '"\([.requirements[] | select(.state == "open")] | length) open"' <<<"$psi_body"
