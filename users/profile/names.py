"""Names folded for comparing, so that one person's name written in two ways is one name.

By Python alone and stored: the database's locale does not matter. By the tables of Unicode, whose normal forms and
names of characters never change: what is stored stays comparable. Libraries of transliteration turn each script into
Latin letters, by tables that change, and drop the vowels of others.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

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
# The search alone takes these for one letter: an Arabic letter in its Arabic and Persian form, kanji in their old and
# new form, and katakana as hiragana. Two people may differ by them: the key of the same person keeps them apart.
_SEARCHED: dict[int, str] = str.maketrans({chr(code): chr(code - 0x60) for code in range(0x30A1, 0x30F7)})
for _letter, _others in (
    *(("\u0643", "\u06a9"), ("\u064a", "\u06cc\u0649\u0626"), ("\u0648", "\u0624")),
    *(("\u0647", "\u0629\u06c0\u06c1\u06be\u06d5"), ("\u0627", "\u0623\u0625\u0622\u0671")),
    *(("高", "髙"), ("崎", "﨑嵜碕"), ("斉", "斎齋齊"), ("辺", "邊邉"), ("沢", "澤"), ("広", "廣"), ("国", "國")),
    *(
        ("浜", "濱濵"),
        ("島", "嶋嶌"),
        ("富", "冨"),
        ("吉", "𠮷"),
        ("桜", "櫻"),
        ("桑", "桒"),
        ("恵", "惠"),
        ("栄", "榮"),
    ),
    *(("真", "眞"), ("竜", "龍"), ("滝", "瀧"), ("関", "關"), ("実", "實"), ("寿", "壽"), ("条", "條"), ("万", "萬")),
    *(("円", "圓"), ("塩", "鹽"), ("峰", "峯"), ("黒", "黑"), ("徳", "德"), ("緑", "綠"), ("鉄", "鐵"), ("桧", "檜")),
    *(("蔵", "藏"), ("総", "總"), ("宝", "寶寳"), ("亀", "龜"), ("礼", "禮"), ("静", "靜"), ("曽", "曾"), ("穂", "穗")),
    *(("荘", "莊"), ("豊", "豐"), ("館", "舘"), ("船", "舩"), ("彦", "彥"), ("戸", "戶"), ("柳", "栁"), ("弥", "彌")),
    *(("芦", "蘆"), ("鶴", "靏靍"), ("遥", "遙"), ("薫", "薰"), ("蒋", "蔣"), ("児", "兒"), ("学", "學"), ("楽", "樂")),
):
    _SEARCHED |= str.maketrans(dict.fromkeys(_others, _letter))
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
    words = _words(term, _SEARCHED)[:MAX_WORDS_OF_A_TERM]
    query = " & ".join(f"({_either(word)})" for word in words)
    # Those who write as one word what the term parts, and the other way round.
    return f"({query}) | {_lexeme(_joined(words))}" if len(words) > 1 else query


# A registration folds two names, and most names are those of others too.
@lru_cache(maxsize=10_000)
def _parts_of(name: str) -> tuple[str, set[str]]:
    """A first or last name in one word, and all that it is found by: this one, its words, their parts and initials."""
    words = _words(name, _SEARCHED)
    joined = ["".join(word) for word in words]
    found_by = {"".join(joined), *joined, *(part for word in words for part in word)}
    initials = {_INITIAL + word[0] for word in found_by if word[0].isalnum()}
    return _joined(_words(name)), initials.union(word[:MAX_WORD] for word in found_by)


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


def _words(text: str, letters: Mapping[int, str] = MappingProxyType({})) -> list[list[str]]:
    """The folded words of a text, each in its parts; of a text of punctuation and symbols alone, those.

    letters: what else is one letter.
    """
    parts = [
        [part for piece in word.split(_SEPARATOR) for part in _UNSPACED.findall(piece)]
        for word in fold(text).translate(letters).split(_BLANK)
    ]
    if words := [word for word in parts if word]:
        return words
    return [[word] for word in unicodedata.normalize("NFKC", text).casefold().split()]


def fold(text: str) -> str:
    """A text folded for comparing: words with a blank between them, and a hyphen for what else is not of a word.

    Compatibility forms, case (the Turkish i too), accents and strokes of Latin, Greek and Cyrillic letters, and
    invisible characters make no difference. The marks of other scripts are kept.
    """
    if text.isascii():
        return _NOT_OF_A_WORD.sub(_SEPARATOR, text.lower())
    # This comes before normalising: the compatibility form of a spacing accent, as in O´Brien, has a blank.
    written = "".join(_SEPARATOR if _is_spacing_modifier(one) else one for one in text)
    letters = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", written).casefold())
    return unicodedata.normalize("NFC", "".join(_fold(_IGNORED.sub("", letters))))


def _is_spacing_modifier(character: str) -> bool:
    """Accents, apostrophes and their like that stand alone, which Unicode has as symbols or as letters."""
    return "\u02b9" <= character <= "\u02df" or unicodedata.category(character) == "Sk"


def _fold(letters: str) -> Iterator[str]:
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
