#!/usr/bin/env bash
# Step 13: compare all users of the service with your own.
source ./psi_events.sh

# What the feed still holds is not a difference.
follow

service='{}' target='/v1/users?limit=100'
while [[ -n $target ]]; do
  psi_send GET "$target" || exit
  [[ $psi_status == 200 ]] || { echo "$psi_status $psi_body" >&2; exit 1; }
  service=$(jq --argjson page "$psi_body" '. + ($page.items | map({(.externalId): .status}) | add // {})' <<<"$service")
  target=$(jq -r '.nextCursor // empty | "/v1/users?limit=100&cursor=\(@uri)"' <<<"$psi_body")
done

jq -r --slurpfile own "$users" '. as $service | $own[0] as $own
  | ($own + $service | keys | map(select($own[.] != $service[.]))) as $different
  | ($different[] | "\(.): own \($own[.] // "none"), service \($service[.] // "none")"),
    "users: own \($own | length), service \($service | length), different \($different | length)"' <<<"$service"
