"""Step 4: simulate the decisions of compliance, a rejection and an approval."""

import sys

import psi

client, user = psi.Client(), psi.setting("EXTERNAL_ID")
try:
    for status in ("rejected", "pendingCompliance", "active"):
        result = client.sandbox.simulate_decision(user, {"status": status})
        print(f"{user} is {result['status']}")
except psi.PsiError as error:
    sys.exit(str(error))
