"""Names folded for comparing: which of them are one name."""

import sys
import unicodedata

import pytest

from users.profile.names import MAX_WORD, fold_name, name_query

ALIKE = [
    # Accents, composed or not, and letter case.
    ("François-Xavier Lévêque", "FRANCOIS-XAVIER LEVEQUE"),
    ("Zoe\u0308 Nu\u0301n\u0303ez", "Zoë Núñez"),
    ("Nguyễn Thị Ánh", "Nguyen Thi Anh"),
    ("Γιώργος Παπαδόπουλος", "ΓΙΩΡΓΟΣ ΠΑΠΑΔΟΠΟΥΛΟΣ"),
    ("Алёна Королёва", "АЛЕНА КОРОЛЕВА"),
    # Letters with strokes, hooks and tails, and those that are two letters.
    ("Łukasz Wałęsa", "Lukasz Walesa"),
    ("Søren Kjærgård", "Soren Kjaergard"),
    ("Đorđe Đurić", "Dorde Duric"),
    ("Weiß Groß", "WEISS GROSS"),
    ("Weiß Groß", "WEIẞ GROẞ"),
    ("Þór Guðmundsson", "Thor Gudmundsson"),
    ("Ħal Ŧedo", "Hal Tedo"),
    ("Œuvrard Sœur", "Oeuvrard Soeur"),
    ("Əli Əliyev", "Ali Aliyev"),
    ("Ɗan Ƙofa", "Dan Kofa"),
    # The Turkish i, dotted and dotless, in both cases.
    ("İbrahim Işık", "ibrahim ışık"),
    ("İBRAHİM IŞIK", "Ibrahim Isik"),
    # Compatibility forms.
    ("Ｔａｎａｋａ Ｋｅｎ", "Tanaka Ken"),
    ("ﬁona ﬂynn", "Fiona Flynn"),
    ("ﾀﾅｶ ｼﾞﾛｳ", "タナカ ジロウ"),
    ("ﻣﺤﻤﺪ ﻋﻠﻲ", "محمد علي"),
    ("김민준 이", unicodedata.normalize("NFD", "김민준 이")),
    # Apostrophes, hyphens, dots and blanks.
    *((f"Sean O{mark}Brien", "Sean OBrien") for mark in "'’‘‛ʼʻʹ′`´＇ʾˈ՚"),
    *((f"Anne{mark}Marie Roy", "AnneMarie Roy") for mark in "-‐‑‒–—―−－﹣·・._/"),
    ("J.R.R. Tolkien", "JRR Tolkien"),
    ("St.John Smith", "St. John Smith"),
    ("Siti D/O Ali", "Siti DO Ali"),
    ("Jean\u00a0Luc Roy", "Jean  Luc Roy"),
    ("Jean\u3000Luc Roy", "Jean Luc Roy"),
    # Invisible characters.
    ("A\u200bda\u00ad Lo\u2060ve\ufefflace", "Ada Lovelace"),
    ("\u202bAda\u202c Love\u034flace", "Ada Lovelace"),
    ("A\ufe0fda Lovelace\U000e0041", "Ada Lovelace"),
    ("محـــمد علي", "محمد علي"),
    ("نور\u200cالدین علی", "نورالدین علی"),
    # First and last name exchanged.
    ("Lovelace Ada", "Ada Lovelace"),
    ("O’Brien Seán", "Sean OBrien"),
]
UNLIKE = [
    ("Ada Lovelace", "Ada Loveless"),
    ("Ana María Ruiz", "Ana Mario Ruiz"),
    # Marks that are vowels or make another letter.
    ("राम कुमार", "रम कमर"),
    ("தமிழ் செல்வி", "தமழ செலவ"),
    ("မြင့် အောင်", "မရင အအင"),
    ("សុខ ចាន់", "សខ ចន"),
    ("דָּוִד כֹּהֵן", "דֹּוִד כֹּהֵן"),
    ("عَلِيّ حَسَن", "عُلِيّ حَسَن"),
    ("ガク タ", "カク タ"),
    ("李 小明", "李 小红"),
    # Names of punctuation and symbols alone.
    ("? !", "! !"),
    ("😀 X", "😡 X"),
]


def key(name: str) -> str:
    first, _blank, last = name.rpartition(" ")
    return fold_name(first, last).name_key


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_names_that_fold_alike(one: str, other: str) -> None:
    assert key(one) == key(other)
    assert key(one).strip()


@pytest.mark.parametrize(("one", "other"), UNLIKE)
def test_names_that_fold_unlike(one: str, other: str) -> None:
    assert key(one) != key(other)


@pytest.mark.parametrize("name", ["राम", "தமிழ்", "မြင့်", "សុខ", "דָּוִד", "عَلِيّ", "ガク"])
def test_the_marks_that_a_script_needs_are_kept(name: str) -> None:
    marks = [one for one in unicodedata.normalize("NFD", name) if unicodedata.category(one)[0] == "M"]
    kept = unicodedata.normalize("NFD", fold_name(name, "x").name_key)
    assert marks
    assert [one for one in kept if unicodedata.category(one)[0] == "M"] == marks


def test_every_character_may_be_in_a_name() -> None:
    for character in map(chr, range(1, sys.maxunicode + 1)):
        # Those that are not assigned, for private use, ideographs or pictures are all alike: some of them are enough.
        if (category := unicodedata.category(character)) in {"Cc", "Cs"} or (
            category in {"Cn", "Co", "Lo", "So"} and ord(character) > 0x3000 and ord(character) % 500
        ):
            continue
        folded = fold_name(f"a{character}b", "c")
        assert folded.name_key
        # Folded twice it is the same: a name that was copied from the search's own words is found.
        assert " " not in "".join(folded.name_words.split(" "))
        assert name_query(f"a{character}b")


def test_a_word_has_a_limit_that_postgresql_takes() -> None:
    folded = fold_name("\ufdfa" * 100, "é" * 100)
    assert max(map(len, folded.name_words.split(" "))) <= MAX_WORD
