"""What a message to a partner may not say: contract, section 13.

A partner must not learn of a suspicion (Proceeds of Crime (Money Laundering) and Terrorist Financing Act, section 8).
"""

import re
import unicodedata

# Whole words with their inflections, in both languages, without accents.
_FORBIDDEN = re.compile(
    r"(?<!\w)(?:"
    r"sanction\w*|fraud\w*|suspic\w*|suspect\w*|launder\w*|terroris\w*|fintracs?|strs?|watch[\s-]*list\w*"
    r"|soupcon\w*|blanchi\w*|canafe|listes?[\s-]+de[\s-]+surveillance"
    r")(?!\w)",
    re.IGNORECASE,
)


def forbidden_words(message: str) -> list[str]:
    """The words of a message that it may not have, as they were written but for accents; empty if it may be sent."""
    # Compatibility forms, such as full-width letters, and characters that are not seen must not hide a word.
    decomposed = unicodedata.normalize("NFKD", message)
    plain = "".join(one for one in decomposed if unicodedata.category(one) not in {"Mn", "Cf"})
    return _FORBIDDEN.findall(plain)
