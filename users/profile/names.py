"""Names folded for comparing, so that one person's name written in two ways is one name.

By Python and the tables of Unicode, whose normal forms and names never change: what is stored stays comparable. The
tables of transliteration libraries change, and drop the vowels of some scripts.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from users.models.columns import FoldedName

# A word of the search has at most so many characters: PostgreSQL takes 2,046 bytes.
MAX_WORD = 100
MAX_WORDS_OF_A_TERM = 20

_NOT_OF_A_WORD = re.compile("[^a-z0-9 ]")
# Scripts without blanks between words or names: each character is a word too.
_EACH = "\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3\U00020000-\U0003ffff"
_UNSPACED = re.compile(f"[{_EACH}]|[^{_EACH}]+")
# Default-ignorable code points that are marks or letters, the empty Braille pattern, and the Arabic tatweel.
_IGNORED = re.compile(
    "[\u034f\u0640\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
# Scripts whose marks are accents. In others they are vowels, or make another letter.
_ACCENTED_SCRIPTS = ("LATIN", "GREEK", "CYRILLIC")
# As passports have them (ICAO 9303) where their Unicode names do not say it.
_LETTERS = {"ı": "i", "ȷ": "j", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th", "ŋ": "n", "ĸ": "q"}
# As they are written where there is no such letter: Azerbaijani, and languages of West Africa.
_LETTERS |= {"ə": "a", "ǝ": "a", "ɛ": "e", "ɔ": "o"}
# Before a letter: a word of the name begins with it. No folded word has this character.
_INITIAL = "*"
# Blanks part words; of the others the parts of a word are words of their own.
_BLANK, _SEPARATOR = " ", "-"


def fold_name(first_name: str, last_name: str) -> FoldedName:
    """What is stored of a name: whom it is compared with, and by which words it is found."""
    first, last = _parts_of(first_name), _parts_of(last_name)
    return FoldedName(
        name_key=" ".join(sorted((first[0], last[0]))), name_words=" ".join(sorted(first[1].union(last[1])))
    )


def name_query(term: str) -> str:
    """The tsquery of the names with all words of a term, each at the beginning of a word; empty where it has none."""
    words = _words(term)[:MAX_WORDS_OF_A_TERM]
    query = " & ".join(f"({_either(word)})" for word in words)
    # Those who write as one word what the term parts, and the other way round.
    return f"({query}) | {_lexeme(_joined(words))}" if len(words) > 1 else query


# A registration folds two names, and most names are those of others too.
@lru_cache(maxsize=10_000)
def _parts_of(name: str) -> tuple[str, set[str]]:
    """A first or last name in one word, and all that it is found by: this one, its words, their parts and initials."""
    words = _words(name)
    joined = ["".join(word) for word in words]
    found_by = {_joined(words), *joined, *(part for word in words for part in word)}
    initials = {_INITIAL + word[0] for word in found_by if word[0].isalnum()}
    return _joined(words), initials.union(word[:MAX_WORD] for word in found_by)


def _joined(words: list[list[str]]) -> str:
    return "".join(map("".join, words))


def _either(word: list[str]) -> str:
    joined = "".join(word)
    if len(word) == 1:
        return _lexeme(joined)
    *parts, last = word[:MAX_WORD]
    # Two letters, as of a "D/O", do not find all that begins with them.
    whole = _lexeme(joined) if len(joined) > 2 else _quoted(joined)  # noqa: PLR2004
    return f"{whole} | ({' & '.join([*map(_quoted, parts), _lexeme(last)])})"


def _lexeme(word: str) -> str:
    # Too many words start with one letter to read them all: the names have it as a lexeme.
    if len(word) == 1:
        return _quoted(_INITIAL + word if word.isalnum() else word)
    return f"{_quoted(word)}:*"


def _quoted(word: str) -> str:
    escaped = word[:MAX_WORD].replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _words(text: str) -> list[list[str]]:
    """The folded words of a text, each in its parts; of a text of punctuation and symbols alone, those."""
    parts = [
        [part for piece in word.split(_SEPARATOR) for part in _UNSPACED.findall(piece)]
        for word in _fold(text).split(_BLANK)
    ]
    if words := [word for word in parts if word]:
        return words
    return [[word] for word in unicodedata.normalize("NFKC", text).casefold().split()]


def _fold(text: str) -> str:
    """A text folded for comparing: words with a blank between them, and a hyphen for what else is not of a word.

    Compatibility forms, case, accents of Latin, Greek and Cyrillic, and invisible characters make no difference.
    """
    if text.isascii():
        return _NOT_OF_A_WORD.sub(_SEPARATOR, text.lower())
    # Accents, apostrophes and their like that stand alone, as symbols or as letters; before normalising, as the
    # compatibility form of a spacing accent, as in O´Brien, has a blank.
    written = "".join(
        _SEPARATOR if "\u02b9" <= one <= "\u02df" or unicodedata.category(one) == "Sk" else one for one in text
    )
    letters = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", written).casefold())
    return unicodedata.normalize("NFC", "".join(_folded(_IGNORED.sub("", letters))))


def _folded(letters: str) -> Iterator[str]:
    has_accents = True
    for letter in letters:
        match unicodedata.category(letter)[0]:
            case "L" | "N":
                has_accents = _is_accented_script(letter)
                yield _plain(letter)
            case "M":
                if not has_accents:
                    yield letter
            case "Z":
                has_accents = True
                yield _BLANK
            case "C":
                # Invisible: a soft hyphen, a joiner, a mark of direction.
                pass
            case _:
                has_accents = True
                yield _SEPARATOR


@lru_cache(maxsize=5_000)
def _is_accented_script(letter: str) -> bool:
    # Digits have no name of a script: what stands on them is no vowel.
    return unicodedata.category(letter) == "Nd" or unicodedata.name(letter, "").startswith(_ACCENTED_SCRIPTS)


@lru_cache(maxsize=5_000)
def _plain(letter: str) -> str:
    """The letter without its stroke, hook or tail, by its name: LATIN SMALL LETTER O WITH STROKE."""
    if letter in _LETTERS:
        return _LETTERS[letter]
    name, _with, addition = unicodedata.name(letter, "").partition(" WITH ")
    if not addition or not name.startswith(_ACCENTED_SCRIPTS):
        return letter
    try:
        plain = unicodedata.lookup(name)
    except KeyError:
        return letter
    return _LETTERS.get(plain, plain)
