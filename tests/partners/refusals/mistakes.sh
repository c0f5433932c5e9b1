# Signs as shell scripts do that make mistakes. Arguments: secret, API key, body, the six lines; output: name and
# signature, by a tab.
secret=$1 api_key=$2 body=$3 method=$4 path=$5 query=$6 timestamp=$7 key=$8 digest=$9
hmac() { openssl dgst -sha256 -hmac "$secret" | sed 's/^.*= //'; }
say() { printf '%s\t%s\n' "$1" "$2"; }
lines() { printf '%s\n%s\n%s\n%s\n%s\n%s' "$@"; }

say lineBreaks:echo "$(echo "$(lines "$method" "$path" "$query" "$timestamp" "$key" "$digest")" | hmac)"
say lineBreaks:printf "$(printf '%s\n' "$method" "$path" "$query" "$timestamp" "$key" "$digest" | hmac)"
say 'lineBreaks:\n in quotes' "$(printf %s "$method\n$path\n$query\n$timestamp\n$key\n$digest" | hmac)"
say lineBreaks:spaces "$(printf %s "$method $path $query $timestamp $key $digest" | hmac)"
say body:sha256sum "$(lines "$method" "$path" "$query" "$timestamp" "$key" "$(printf %s "$body" | sha256sum)" | hmac)"
say body:openssl "$(lines "$method" "$path" "$query" "$timestamp" "$key" "$(printf %s "$body" | openssl dgst -sha256)" | hmac)"
say body:echo "$(lines "$method" "$path" "$query" "$timestamp" "$key" "$(echo "$body" | sha256sum | cut -d ' ' -f 1)" | hmac)"
say body:none "$(lines "$method" "$path" "$query" "$timestamp" "$key" "$(sha256sum < /dev/null | cut -d ' ' -f 1)" | hmac)"
say timestamp:seconds "$(lines "$method" "$path" "$query" "$(date -u -d "$timestamp" +%s)" "$key" "$digest" | hmac)"
say timestamp:again "$(lines "$method" "$path" "$query" "$(date -u -d "$timestamp" +%Y-%m-%dT%H:%M:%SZ)" "$key" "$digest" | hmac)"
say method:lower "$(lines "$(printf %s "$method" | tr '[:upper:]' '[:lower:]')" "$path" "$query" "$timestamp" "$key" "$digest" | hmac)"
say path:query "$(lines "$method" "$path?$query" "" "$timestamp" "$key" "$digest" | hmac)"
say query:none "$(lines "$method" "$path" "" "$timestamp" "$key" "$digest" | hmac)"
say idempotencyKey:upper "$(lines "$method" "$path" "$query" "$timestamp" "$(printf %s "$key" | tr '[:lower:]' '[:upper:]')" "$digest" | hmac)"
say secret:key "$(lines "$method" "$path" "$query" "$timestamp" "$key" "$digest" | openssl dgst -sha256 -hmac "$api_key" | sed 's/^.*= //')"
say secret:hash "$(lines "$method" "$path" "$query" "$timestamp" "$key" "$digest" | sha256sum | cut -d ' ' -f 1)"
say signatureFormat:openssl "$(lines "$method" "$path" "$query" "$timestamp" "$key" "$digest" | openssl dgst -sha256 -hmac "$secret")"
say signatureFormat:base64 "$(lines "$method" "$path" "$query" "$timestamp" "$key" "$digest" | openssl dgst -sha256 -hmac "$secret" -binary | base64)"
