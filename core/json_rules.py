"""The rules for values of JSON that several fields share. Each turns a JSON value into the value to store.

Their ValidationError has a message that never repeats the value, and a code of the contract (section 1).
"""

import re
import unicodedata
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db.models import TextChoices

Choice = TypeVar("Choice", bound=TextChoices)

# Unicode categories Cc and Cs: control characters and lone surrogates.
_CONTROL_OR_SURROGATE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
# What needs no further look, as most texts do: ASCII from a visible character to a visible one.
_PLAIN = re.compile("[!-~](?:[ -~]*[!-~])?")

# Letters and symbols without a form of their own. Of the default-ignorable code points only the first four are letters,
# numbers, punctuation or symbols; the last is the empty Braille pattern.
FILLERS = frozenset("\u115f\u1160\u3164\uffa0\u2800")
NOT_VISIBLE = "Must have a visible character: a letter, a number, punctuation or a symbol."


def has_visible_character(value: str) -> bool:
    """Whether people see anything of a text without control characters: contract, section 2."""
    if value.isascii():
        return not value.isspace() and value != ""
    return any(unicodedata.category(one)[0] in "LNPS" and one not in FILLERS for one in value)


def clean_text(value: Any) -> str:
    """A JSON string without control characters and lone surrogates, not stripped."""
    if not isinstance(value, str):
        raise ValidationError("Must be a string.", code="type")
    if _CONTROL_OR_SURROGATE.search(value):
        raise ValidationError("Must not contain control characters or lone surrogates.", code="format")
    return value


def text(value: Any, *, shortest: int, longest: int) -> str:
    """A string of `shortest` to `longest` code points, stripped of white space; visible unless it may be empty."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and len(value) <= longest:
        return value
    stripped = clean_text(value).strip()
    if len(stripped) < shortest:
        raise ValidationError("Must not be empty.", code="length")
    if len(stripped) > longest:
        raise ValidationError(f"Must be at most {longest} characters.", code="length")
    if shortest and not has_visible_character(stripped):
        raise ValidationError(NOT_VISIBLE, code="format")
    return stripped


def text_of_lines(value: Any, *, longest: int, shortest: int = 1) -> str:
    """A `text` that may have line breaks: line feeds and carriage returns."""
    if not isinstance(value, str):
        return clean_text(value)
    clean_text(value.replace("\r", "").replace("\n", ""))
    stripped = value.strip()
    text(stripped.replace("\r", " ").replace("\n", " "), shortest=shortest, longest=longest)
    return stripped


def choice(value: Any, *, among: type[Choice]) -> Choice:
    """A value of this class."""
    if not isinstance(value, str):
        raise ValidationError("Must be a string.", code="type")
    if value not in among.values:
        raise ValidationError(f"Must be one of: {', '.join(among.values)}.", code="notAllowed" if value else "length")
    return among(value)


def whole_number(value: Any, *, lowest: int, highest: int) -> int:
    """A JSON number without fraction and exponent, from `lowest` to `highest`."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValidationError("Must be a whole number.", code="type")
    if not lowest <= value <= highest:
        raise ValidationError(f"Must be from {lowest} to {highest}.", code="range")
    return value
