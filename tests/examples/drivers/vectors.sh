# Signs what it reads with psi.sh. How drivers talk is said in tests/examples/languages.py.
source ./psi.sh

IFS= read -r -d '' secret
while IFS= read -r -d '' method; do
  for field in target timestamp key body; do IFS= read -r -d '' "$field"; done
  if canonical=$(psi_canonical_request "$method" "$target" "$timestamp" "$key" "$body" 2>/dev/null); then
    printf '%s\0%s\0' "$canonical" "$(psi_sign "$secret" "$canonical")"
  else
    printf 'refused\0\0'
  fi
done
