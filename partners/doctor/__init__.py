"""The signature doctor: why the service refuses a request as `unauthorized`, from the request alone, without a secret.

Pure functions without Django; nothing is sent, stored or looked up.
"""

from partners.doctor.diagnosis import diagnose
from partners.doctor.parsing import NotUnderstoodError, SecretPastedError

__all__ = ["NotUnderstoodError", "SecretPastedError", "diagnose"]
