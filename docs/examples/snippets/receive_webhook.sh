#!/usr/bin/env bash
# Verifies a webhook, as a CGI program (RFC 3875) of your HTTPS server. Needs jq.
#
#     export PSI_WEBHOOK_SECRET=whsec_…
source ./psi.sh

# refuse STATUS: the response, by which the service tries again later.
refuse() { printf 'Status: %s\r\n\r\n' "$1"; exit; }

[[ -n ${PSI_WEBHOOK_SECRET-} ]] || { echo 'PSI_WEBHOOK_SECRET is not set' >&2; exit 1; }
id=${HTTP_WEBHOOK_ID-} timestamp=${HTTP_WEBHOOK_TIMESTAMP-}
((${CONTENT_LENGTH:-65537} <= 65536)) || refuse 413
# The bytes as they were sent; $(…) alone would drop line feeds at the end.
body=$(head -c "$CONTENT_LENGTH"; printf x) body=${body%x}

[[ $timestamp =~ ^[0-9]{1,12}$ ]] || refuse 401
age=$(($(date +%s) - 10#$timestamp))
((age <= 300 && age >= -300)) || refuse 401
key=$(printf '%s' "${PSI_WEBHOOK_SECRET#whsec_}" | openssl base64 -d -A | psi_hex)
# Everybody can sign under an empty key.
((${#key} >= 64)) || { echo "PSI_WEBHOOK_SECRET is not whsec_ and base64 of 32 bytes" >&2; refuse 500; }
expected=v1,$(psi_hmac "$key" "$id.$timestamp.$body" | openssl base64 -A)
# One signature for each secret in force.
[[ " ${HTTP_WEBHOOK_SIGNATURE-} " == *" $expected "* ]] || refuse 401

# An event may come more than once, and later than a newer one of the same user: store it under its id, and keep the
# greatest updatedAt.
file=received/${id//[^0-9A-Za-z-]/}.json
mkdir -p received
if [[ ! -e $file ]]; then
  printf '%s' "$body" >"$file.$$" && mv "$file.$$" "$file" || refuse 500
  jq -r '"\(.type) \(.data.externalId // "")"' "$file" >&2
fi
printf 'Status: 204\r\n\r\n'
