"""The forms of a conversion's texts, as regular expressions: contract, section 6."""

CONVERSION_ID = "[A-Za-z0-9_.-]{1,64}"
CURRENCY = "[A-Z0-9]{3,10}"
# Plain decimal notation: at most 20 digits before the point, and 18 after it.
DECIMAL = r"(0|[1-9]\d{0,19})(\.\d{1,18})?"
