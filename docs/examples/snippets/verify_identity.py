"""Records how a user's identity was verified, and lists the records: numbers are not given back."""

import httpx

import psi

verification = {
    "method": "photoDocument",
    "verifiedOn": "2026-01-15",
    "documentType": "driversLicence",
    "documentNumber": "B1234-56789-01234",
    "issuingCountry": "CA",
    "issuingSubdivision": "ON",
    "expiresOn": "2031-04-30",
}
target = f"{psi.path('users', 'cust-1001')}/verifications"
with httpx.Client(**psi.options()) as client:
    psi.send(client, "POST", target, json=verification)
    for one in psi.send(client, "GET", target).json()["items"]:
        print(one["verifiedOn"], one["method"], f"until {one['expiresOn'] or 'no date'}")
