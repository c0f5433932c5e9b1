"""The first call: prints the partner of the key and the service's time."""

import sys

import psi

try:
    print(psi.Client().ping())
except psi.PsiError as error:
    sys.exit(str(error))
