"""The first call: prints the partner of the key and the service's time."""

import sys

import httpx

import psi

try:
    with httpx.Client(**psi.options()) as client:
        print(psi.send(client, "GET", "/v1/ping").json())
except psi.PsiError as error:
    sys.exit(str(error))
