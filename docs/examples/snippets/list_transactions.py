"""Prints all transactions of a user, newest first. The pages are requested one after the other."""

import httpx

import psi

count = 0
with httpx.Client(**psi.options()) as client:
    for item in psi.items(client, psi.path("users", "cust-1001", "transactions")):
        count += 1
        # Amounts are strings, so that no digit is lost: use Decimal, not float.
        print(item["conversionId"], item["createdAt"], item["from"]["amount"], item["from"]["currency"])
if count == 0:
    print("no conversions")
