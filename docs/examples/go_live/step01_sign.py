"""Step 1: sign a request, and make sure that the key is one of the sandbox."""

import sys

import psi

try:
    result = psi.Client().ping()
except psi.PsiError as error:
    sys.exit(str(error))
if result["mode"] != "sandbox":
    sys.exit("This key is live: do not go on with it.")
print(f"partner {result['partner']}, mode {result['mode']}")
