"""The signature doctor: why a request was refused as `unauthorized`, told from the request alone, without a secret.

Pure functions without Django: nothing is sent, stored or looked up. What was pasted is read
(reading.py), the canonical request is built by partners/signing.py, and what a mistaken client may have
signed instead is built beside it from tables of mistakes: what fits tells the cause.
"""

from partners.doctor.examination import examine
from partners.doctor.findings import NotUnderstoodError, SecretPastedError

__all__ = ["NotUnderstoodError", "SecretPastedError", "examine"]
