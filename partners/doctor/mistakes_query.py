"""Mistakes in the third line of the canonical request, the query: contract, section 3."""

from collections.abc import Callable, Iterator
from urllib.parse import quote, quote_plus, unquote

from partners import signing
from partners.doctor.findings import ERROR, QUERY, Cause
from partners.doctor.mistakes import Mistake
from partners.doctor.mistakes_target import UNRESERVED_TOO, lower_hex, tilde_encoded
from partners.doctor.sent import Sent

Pairs = list[tuple[str, str]]


def _pairs(sent: Sent) -> Pairs:
    return signing.query_pairs(sent.query.encode())


def _encode(text: str) -> str:
    return quote(text, safe="")


def _joined(pairs: Pairs) -> str:
    return "&".join(f"{name}={value}" for name, value in pairs)


def _encoded(sent: Sent, encode: Callable[[str], str]) -> Iterator[str]:
    """The query in an encoding, sorted and in the order sent."""
    pairs = [(encode(name), encode(value)) for name, value in _pairs(sent)]
    yield _joined(sorted(pairs))
    yield _joined(pairs)


def _left_out(_: Sent) -> Iterator[str]:
    yield ""


def _question_mark(sent: Sent) -> Iterator[str]:
    if sent.query:
        yield f"?{sent.canonical_lines[QUERY]}"
        yield f"?{sent.query}"


def _unsorted(sent: Sent) -> Iterator[str]:
    yield _joined([(_encode(name), _encode(value)) for name, value in _pairs(sent)])


def _sorted_otherwise(sent: Sent) -> Iterator[str]:
    """By name alone, by the joined text, by decoded text, and whatever the letter case."""
    sent_pairs = _pairs(sent)
    pairs = [(_encode(name), _encode(value)) for name, value in sent_pairs]
    yield _joined(sorted(pairs, key=lambda pair: pair[0]))
    yield "&".join(sorted(_joined([pair]) for pair in pairs))
    yield _joined([(_encode(name), _encode(value)) for name, value in sorted(sent_pairs)])
    yield _joined(sorted(pairs, key=lambda pair: (pair[0].lower(), pair[1].lower())))


def _lower_case_hex(sent: Sent) -> Iterator[str]:
    yield from _encoded(sent, lambda text: lower_hex(_encode(text)))


def _plus_for_space(sent: Sent) -> Iterator[str]:
    yield from _encoded(sent, quote_plus)


def _slash_left(sent: Sent) -> Iterator[str]:
    yield from _encoded(sent, lambda text: quote(text, safe="/"))


def _decoded(sent: Sent) -> Iterator[str]:
    yield _joined(sorted(_pairs(sent)))
    yield _joined(sorted(_pairs(sent), key=lambda pair: (_encode(pair[0]), _encode(pair[1]))))


def _decoded_and_unsorted(sent: Sent) -> Iterator[str]:
    yield _joined(_pairs(sent))
    yield unquote(sent.query)


def _encoded_twice(sent: Sent) -> Iterator[str]:
    yield from _encoded(sent, lambda text: _encode(_encode(text)))


def _encoded_otherwise(sent: Sent) -> Iterator[str]:
    for left in UNRESERVED_TOO:
        yield from _encoded(sent, lambda text, left=left: quote(text, safe=left))  # type: ignore[misc]
        yield from _encoded(sent, lambda text, left=left: quote_plus(text, safe=left))  # type: ignore[misc]
        yield from _encoded(sent, lambda text, left=left: quote(text, safe=f"{left}/?"))  # type: ignore[misc]
    yield from _encoded(sent, lambda text: tilde_encoded(quote_plus(text)))
    yield from _encoded(sent, lambda text: tilde_encoded(_encode(text)))


def _wholly_encoded(sent: Sent) -> Iterator[str]:
    yield _encode(sent.query)
    yield _encode(sent.canonical_lines[QUERY])


def _equals_sign_left_out(sent: Sent) -> Iterator[str]:
    pairs = sorted((_encode(name), _encode(value)) for name, value in _pairs(sent))
    yield "&".join(f"{name}={value}" if value else name for name, value in pairs)
    yield _joined([pair for pair in pairs if pair[1]])


def _one_of_each_name(sent: Sent) -> Iterator[str]:
    pairs = [(_encode(name), _encode(value)) for name, value in _pairs(sent)]
    yield _joined(sorted(dict(pairs).items()))
    yield _joined(sorted(dict(reversed(pairs)).items()))


def _as_sent(sent: Sent) -> Iterator[str]:
    yield sent.query


def _cause(code: str, title: str, explanation: str, remedy: str) -> Cause:
    return Cause(code, ERROR, title, explanation, remedy, QUERY)


MISTAKES = (
    Mistake(
        _cause(
            "query-not-signed",
            "The query is not signed",
            "Line 3 is empty, but the request was sent with a query.",
            "Sign the query in line 3: decoded, encoded again and sorted.",
        ),
        _left_out,
    ),
    Mistake(
        _cause(
            "query-question-mark",
            "The query's line begins with a question mark",
            "The question mark only separates path and query, and is in neither line.",
            "Leave the question mark out.",
        ),
        _question_mark,
    ),
    Mistake(
        _cause(
            "query-unsorted",
            "The query is not sorted",
            "Parameters stand in the order in which they were sent; they are signed sorted by encoded name, then by"
            " encoded value.",
            "Sort the encoded parameters byte by byte before you join them.",
        ),
        _unsorted,
    ),
    Mistake(
        _cause(
            "query-sorted-otherwise",
            "The query is sorted by another rule",
            "Parameters are sorted by encoded name, then by encoded value, byte by byte: capitals come before small"
            " letters, and % before both.",
            "Encode first, then sort the pairs of name and value without regard to a language.",
        ),
        _sorted_otherwise,
    ),
    Mistake(
        _cause(
            "query-hex-in-lower-case",
            "Escapes of the query are in lower case",
            "Percent-encoding has upper-case hex digits in the canonical request: %3A, not %3a.",
            "Write the hex digits of escapes in upper case.",
        ),
        _lower_case_hex,
    ),
    Mistake(
        _cause(
            "query-slash-left",
            "A slash of the query is not encoded",
            "In the query a slash becomes %2F; only in the path it stays.",
            "Percent-encode / in names and values.",
        ),
        _slash_left,
    ),
    Mistake(
        _cause(
            "query-plus-for-space",
            "A space of the query is written as +",
            "A plus sign is read as a space, but in the canonical request a space is %20.",
            "Replace the function for forms by percent-encoding.",
        ),
        _plus_for_space,
    ),
    Mistake(
        _cause(
            "query-decoded",
            "The query is decoded instead of encoded",
            "Names and values stand as they are; they have to be percent-encoded again after decoding.",
            "Percent-encode each byte of names and values but A-Z a-z 0-9 - . _ ~; JavaScript's encodeURIComponent"
            " leaves ! ' ( ) * too.",
        ),
        _decoded,
    ),
    Mistake(
        _cause(
            "query-decoded-and-unsorted",
            "The query is neither encoded nor sorted",
            "Names and values stand as they are, in the order in which they were sent; they are signed percent-encoded,"
            " and sorted by encoded name, then by encoded value.",
            "Percent-encode each name and value, sort the pairs, then join them.",
        ),
        _decoded_and_unsorted,
    ),
    Mistake(
        _cause(
            "query-encoded-twice",
            "The query is encoded twice",
            "The percent signs of its escapes were encoded once more, as %25.",
            "Encode the decoded names and values once.",
        ),
        _encoded_twice,
    ),
    Mistake(
        _cause(
            "query-encoded-whole",
            "The query is encoded as a whole",
            "The signs = and & between names and values were encoded too.",
            "Encode each name and each value, then join them.",
        ),
        _wholly_encoded,
    ),
    Mistake(
        _cause(
            "query-empty-value-lost",
            "A parameter without value is written otherwise",
            "A parameter without value is signed with an equals sign after its name.",
            "Write name= where there is no value.",
        ),
        _equals_sign_left_out,
    ),
    Mistake(
        _cause(
            "query-repetition-lost",
            "A parameter that was sent twice is signed once",
            "A dictionary keeps one value of each name, but all that were sent are signed.",
            "Keep the parameters in a list of pairs.",
        ),
        _one_of_each_name,
    ),
    Mistake(
        _cause(
            "query-encoded-otherwise",
            "The query is encoded by other rules",
            "Functions for URLs differ in what they leave as it is; here only A-Z a-z 0-9 - . _ and ~ stay.",
            "Percent-encode every other byte, also ! ' ( ) * : and the like.",
        ),
        _encoded_otherwise,
    ),
    Mistake(
        _cause(
            "query-as-sent",
            "The query is signed as it was sent",
            "The query may be written in more than one way, so it is decoded, encoded again and sorted before it is"
            " signed.",
            "Build line 3 from the decoded names and values.",
        ),
        _as_sent,
    ),
)

DIFFERENT = (
    _cause(
        "query-differs",
        "The queries differ",
        "The query that was signed is not the one that was sent, in no way that is known here.",
        "Look at the first byte that differs, and sign the query of the very URL that you send.",
    ),
)
