"""What a message to a partner may not say (a suspicion), and how it may not be written: contract, section 13."""

import re
import unicodedata
from collections.abc import Iterator

from core.json_rules import FILLERS


def _abbreviations(*names: str) -> str:
    """Match an abbreviation with dots or without, in the plural or not."""
    dotted = (r"\.?".join(name) for name in names)
    return "|".join(rf"{name}\.?s?" for name in dotted)


# Whole words with their inflections, in both languages, without accents. STR and DOD count in capitals alone: `str.` is
# a street.
_FORBIDDEN = re.compile(
    # A digit beside a word hides nothing.
    r"(?<![^\W\d_])(?:"
    r"sanction\w*|fraud\w*|suspic\w*|suspect\w*|launder\w*|terroris\w*|watch[\s-]*list\w*|investigat\w*"
    r"|police\w*|policing|policiere?s?|politically[\s-]+expos\w*"
    r"|soupcon\w*|blanchi\w*|listes?[\s-]+de[\s-]+surveillance|enquet\w*|politiquement[\s-]+vulnerables?"
    rf"|l\.?c\.?b[\s.-]*f\.?t|{_abbreviations('aml', 'fintrac', 'rcmp', 'ofac', 'pep', 'lba', 'canafe', 'grc', 'ppv')}"
    rf"|(?-i:{_abbreviations('STR', 'DOD')}|STRS|DODS)"
    r")(?![^\W\d_])",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[^\W\d_]+")
# Japanese is written in three.
_JAPANESE = {"HIRAGANA", "KATAKANA", "CJK"}
# Marks without a form of their own: the grapheme joiner, the Mongolian and the other variation selectors.
_INVISIBLE_MARKS = re.compile("[\u034f\u17b4\u17b5\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def forbidden_words(message: str) -> list[str]:
    """The words of a message that it may not have, as they were written but for accents; empty if it may be sent."""
    return list(dict.fromkeys(_FORBIDDEN.findall(_plain(message))))


def hidden_parts(message: str) -> list[str]:
    """What may hide a word: invisible characters by their code points, and words with letters of two scripts."""
    hidden = [
        f"U+{ord(one):04X}"
        for one in message.translate(dict.fromkeys(map(ord, "\r\n")))
        if unicodedata.category(one) in {"Cc", "Cf", "Cn", "Co", "Cs"} or one in FILLERS or _INVISIBLE_MARKS.match(one)
    ]
    hidden += [word for word in _WORDS.findall(_plain(message)) if len(set(_scripts(word))) > 1]
    return list(dict.fromkeys(hidden))


def _plain(message: str) -> str:
    # Compatibility forms, such as full-width letters, and characters that are not seen must not hide a word.
    decomposed = unicodedata.normalize("NFKD", message)
    return "".join(
        # Hyphens and dashes of every kind, and underscores, separate words.
        "-" if unicodedata.category(one) in {"Pd", "Pc"} or one == "\N{MINUS SIGN}" else one
        for one in decomposed
        if unicodedata.category(one) not in {"Mn", "Me", "Cf"}
    )


def _scripts(word: str) -> Iterator[str]:
    for letter in word:
        # A letter's name begins with its script's.
        script = unicodedata.name(letter, "").split(" ")[0].split("-")[0]
        if script != "MODIFIER":
            yield "JAPANESE" if script in _JAPANESE else script
