"""The signature doctor: why the service refuses a request as `unauthorized`, from the request alone, without a secret.

Pure functions without Django; nothing is sent, stored or looked up. parsing.py reads what was pasted,
checks.py holds what is wrong with a request by itself, mistakes.py and layout.py hold what can be wrong
with a canonical request, and diagnosis.py compares.
"""

from partners.doctor.diagnosis import diagnose, examine
from partners.doctor.parsing import NotUnderstoodError, SecretPastedError

__all__ = ["NotUnderstoodError", "SecretPastedError", "diagnose", "examine"]
