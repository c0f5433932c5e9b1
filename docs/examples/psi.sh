#!/usr/bin/env bash
# Signs requests to the Partner Service Interface and sends them. Bash 4, curl 7.55 or newer, openssl and iconv.
#
#     export PSI_BASE_URL=https://partners.example PSI_API_KEY=psi_test_key_… PSI_SECRET=psi_test_secret_…
#     bash psi.sh GET /v1/ping
#     bash psi.sh PATCH /v1/users/cust-1001 '{"city": "Ottawa"}'
#
# The status goes to standard error, the body to standard output: redirect it with `>` to save it.
# Secret and key are never arguments of a program: other users can list these.

# psi_canonical_request METHOD TARGET TIMESTAMP IDEMPOTENCY_KEY BODY: prints the six lines to sign.
# TARGET: the path from /v1 on with its query, as sent; fails if it is not UTF-8.
psi_canonical_request() {
  local path query='' digest
  path=$(psi_encode "${2%%\?*}")
  [[ $2 == *\?* ]] && query=$(psi_canonical_query "${2#*\?}")
  if ! printf '%b' "${path//%/\\x}?${query//%/\\x}" | iconv -f UTF-8 -t UTF-16 &>/dev/null; then
    echo 'path and query, percent-decoded, must be UTF-8' >&2
    return 1
  fi
  digest=$(printf '%s' "$5" | psi_sha256 | psi_hex)
  printf '%s\n%s\n%s\n%s\n%s\n%s' "$1" "${path//%2F//}" "$query" "$3" "$4" "$digest"
}

psi_canonical_query() {
  local pieces piece
  IFS='&' read -ra pieces <<<"${1//+/%20}"
  for piece in "${pieces[@]}"; do
    [[ -n $piece ]] || continue
    [[ $piece == *=* ]] || piece+='='
    # A space sorts before every character of an encoded name: by name, then by value.
    printf '%s %s\n' "$(psi_encode "${piece%%=*}")" "$(psi_encode "${piece#*=}")"
  done | LC_ALL=C sort | tr ' ' '=' | paste -sd '&' -
}

# psi_encode TEXT: percent-decodes it and encodes it again, byte by byte: all but A-Z a-z 0-9 - . _ ~.
psi_encode() {
  local LC_ALL=C rest=$1 encoded='' byte char
  while [[ -n $rest ]]; do
    if [[ $rest =~ ^%[0-9A-Fa-f]{2} ]]; then
      byte=$((16#${rest:1:2})) rest=${rest:3}
    else
      printf -v byte '%d' "'$rest"
      byte=$((byte & 255)) rest=${rest:1}
    fi
    printf -v byte '%02X' "$byte"
    printf -v char '%b' "\\x$byte"
    [[ $char == [A-Za-z0-9._~-] ]] || char=%$byte
    encoded+=$char
  done
  printf '%s' "$encoded"
}

# psi_sign SECRET CANONICAL: prints the signature, in hex, under the secret as issued.
psi_sign() { psi_hmac "$(printf '%s' "$1" | psi_hex)" "$2" | psi_hex; }

# psi_hmac KEY TEXT: the bytes of the HMAC-SHA256 (RFC 2104). KEY: in hex. `openssl dgst -hmac` takes it as an argument.
psi_hmac() {
  local key=$1 inner='' outer='' i
  ((${#key} <= 128)) || key=$(printf '%b' "$(sed 's/../\\x&/g' <<<"$key")" | psi_sha256 | psi_hex)
  for ((i = 0; i < 128; i += 2)); do
    printf -v inner '%s\\x%02x' "$inner" $((16#0${key:i:2} ^ 0x36))
    printf -v outer '%s\\x%02x' "$outer" $((16#0${key:i:2} ^ 0x5c))
  done
  { printf '%b' "$outer"; { printf '%b' "$inner"; printf '%s' "$2"; } | psi_sha256; } | psi_sha256
}

psi_sha256() { openssl dgst -sha256 -binary; }
psi_hex() { od -An -v -tx1 | tr -d ' \n'; }

# psi_uuid: prints a new UUID.
psi_uuid() {
  local hex
  hex=$(openssl rand -hex 16)
  printf '%s' "${hex:0:8}-${hex:8:4}-4${hex:13:3}-a${hex:17:3}-${hex:20}"
}

# psi_send METHOD TARGET [BODY [IDEMPOTENCY_KEY [FILE [HEADER …]]]]: signs a request and sends it. Sets psi_status,
# psi_body, psi_head (status line and headers) and psi_retry_after (seconds, or nothing). Fails without a response, with
# 2 if nothing could be sent; an error status is a response.
# TARGET: percent-encoded. BODY: JSON, sent as it is signed. IDEMPOTENCY_KEY: by default a new one for a write; `none`
# for none.
# FILE: gets the body instead of psi_body, which cannot contain NUL. HEADER: not signed, as 'X-Sandbox-Fault: slow'.
psi_send() {
  local method=$1 target=$2 body=${3-} key=${4-} file=${5-} timestamp canonical signature response setting
  local base_url='^https?://[^[:space:]/?#@\]+(/[^[:space:]?#\]*)?$'
  for setting in PSI_BASE_URL PSI_API_KEY PSI_SECRET; do
    [[ -n ${!setting-} ]] || { echo "$setting is not set" >&2; return 2; }
  done
  if [[ ! $PSI_BASE_URL =~ $base_url || $PSI_BASE_URL =~ /v1/*$ ]]; then
    echo 'PSI_BASE_URL is not like https://partners.example: no /v1, ?, #, user name or password' >&2
    return 2
  fi
  local headers=("${@:6}" "X-Api-Key: $PSI_API_KEY") options=(--request "$method")
  if [[ -n $file ]]; then options+=(--dump-header - --output "$file"); else options+=(--include); fi
  if [[ $method == POST || $method == PATCH ]]; then
    [[ -n $key ]] || key=$(psi_uuid)
    [[ $key != none ]] || key=''
    headers+=('Content-Type: application/json') options+=(--data-binary @-)
  else
    body=''
  fi
  timestamp=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  canonical=$(psi_canonical_request "$method" "$target" "$timestamp" "$key" "$body") || return 2
  signature=$(psi_sign "$PSI_SECRET" "$canonical")
  headers+=("X-Request-Timestamp: $timestamp" "X-Request-Signature: $signature")
  [[ -z $key ]] || headers+=("Idempotency-Key: $key")
  response=$(
    printf '%s' "$body" | curl --silent --show-error --suppress-connect-headers --max-time 30 \
      --globoff --path-as-is "${options[@]}" --header @<(printf '%s\n' "${headers[@]}") "${PSI_BASE_URL%/}$target"
  ) || return
  psi_head=${response%%$'\r\n\r\n'*} psi_body=''
  [[ -n $file ]] || psi_body=${response#*$'\r\n\r\n'}
  psi_status=${psi_head#* } psi_status=${psi_status:0:3} psi_retry_after=''
  [[ $psi_head =~ [Rr]etry-[Aa]fter:\ *([0-9]+) ]] && psi_retry_after=${BASH_REMATCH[1]}
  return 0
}

# Command line: sends one request and writes the response. Exit status 0 for a 2xx.
if [[ ${BASH_SOURCE[0]-} == "$0" ]]; then
  set -eo pipefail
  : "${1:?is METHOD, then PATH [JSON]}" "${2:?is PATH, then [JSON]}"
  file=$(mktemp)
  trap 'rm -f "$file"' EXIT
  psi_send "$1" "$2" "${3-}" "${PSI_IDEMPOTENCY_KEY-}" "$file"
  echo "$psi_status" >&2
  cat "$file"
  echo >&2
  [[ $psi_status == 2?? ]]
fi
