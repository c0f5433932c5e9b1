"""What a message to a partner may not say, and how it may not be written: contract, section 13.

A partner must not learn of a suspicion (Proceeds of Crime (Money Laundering) and Terrorist Financing Act, section 8).
"""

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
_LINE_BREAKS = "\r\n"
# Cyrillic and Greek letters that look like Latin ones (a whole word of them is of one script), and Latin ones that look
# like others.
_LOOK_ALIKES = str.maketrans(
    "АВСЕНІЈКМОРЅТХУаеорсухѕіјԁΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρυɑɡɩſ", "ABCEHIJKMOPSTXYaeopcyxsijdABEZHIKMNOPTYXovpuagis"
)
_SMALL_CAPITAL = re.compile("LATIN LETTER SMALL CAPITAL ([A-Z])")
# Digits and signs in place of letters, in words alone: 1 may be an i or an l.
_AS_LETTERS = [str.maketrans("01345789@$!", f"o{one}eastbgasi") for one in "il"]
_WITH_DIGITS = re.compile(r"[\d@$!]*[^\W\d_][\w@$!]*")


def forbidden_words(message: str) -> list[str]:
    """The words of a message that it may not have, as they were written but for accents; empty if it may be sent."""
    plain = _plain(message).translate(_LOOK_ALIKES)
    as_letters = [_WITH_DIGITS.sub(lambda word, table=table: word[0].translate(table), plain) for table in _AS_LETTERS]  # type: ignore[misc]
    return list(dict.fromkeys(word for text in (plain, *as_letters) for word in _FORBIDDEN.findall(text)))


def hidden_parts(message: str) -> list[str]:
    """What may hide a word: invisible characters by their code points, and words with letters of two scripts."""
    invisible = [f"U+{ord(one):04X}" for one in message if _is_invisible(one)]
    mixed = [word for word in _WORDS.findall(_plain(message)) if len(set(_scripts(word))) > 1]
    return list(dict.fromkeys(invisible + mixed))


def _plain(message: str) -> str:
    # Compatibility forms, such as full-width letters, and characters that are not seen must not hide a word.
    decomposed = unicodedata.normalize("NFKD", message)
    return "".join(
        # Hyphens and dashes of every kind, and underscores, separate words.
        "-" if unicodedata.category(one) in {"Pd", "Pc"} or one == "\N{MINUS SIGN}" else _full_size(one)
        for one in decomposed
        if unicodedata.category(one) not in {"Mn", "Me", "Cf"}
    ).replace("ı", "i")


def _full_size(one: str) -> str:
    """The letter of a small capital, any other character as it is."""
    found = None if one.isascii() else _SMALL_CAPITAL.fullmatch(unicodedata.name(one, ""))
    return found[1] if found else one


def _is_invisible(one: str) -> bool:
    hides = unicodedata.category(one) in {"Cc", "Cf", "Cn", "Co", "Cs"} and one not in _LINE_BREAKS
    return hides or one in FILLERS or _INVISIBLE_MARKS.match(one) is not None


def _scripts(word: str) -> Iterator[str]:
    for letter in word:
        # A letter's name begins with its script's.
        script = unicodedata.name(letter, "").split(" ")[0].split("-")[0]
        if script != "MODIFIER":
            yield "JAPANESE" if script in _JAPANESE else script
