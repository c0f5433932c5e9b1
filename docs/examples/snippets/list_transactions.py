"""Prints all transactions of a user, newest first. The client requests the pages, one after the other."""

import psi

count = 0
for item in psi.Client().transactions("cust-1001"):
    count += 1
    # Amounts are strings, so that no digit is lost: use Decimal, not float.
    print(item["conversionId"], item["createdAt"], item["from"]["amount"], item["from"]["currency"])
if count == 0:
    print("no conversions")
