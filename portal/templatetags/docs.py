"""Code on the pages, highlighted on the server: Pygments reads the code, static/docs/code.css has the colours.

Pygments' own HTML formatter gives every comma a span, which makes a page three times as long.
"""

from functools import lru_cache
from itertools import groupby
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, String

register = template.Library()

# The keys are token types; a subtype without an entry has the class of its parent.
CLASSES: dict[Any, str] = {
    Comment: "comment",
    Comment.Preproc: "",
    Keyword: "keyword",
    Keyword.Constant: "constant",
    Number: "constant",
    String: "string",
    String.Interpol: "",
    Name.Attribute: "name",
    Name.Tag: "name",
    Name.Class: "name",
    Name.Function: "name",
    Name.Variable: "variable",
}


@register.simple_block_tag
def code(content: str, name: str, syntax: str = "", form: str = "") -> str:
    """A figure with the code between the tags, which has `autoescape off`: the figure escapes."""
    # strip makes a str of a subclass, such as a SafeString.
    return render_to_string(
        "docs/parts/code.html", {"text": content.strip(), "name": name, "syntax": syntax, "form": form}
    )


@register.filter
@lru_cache(maxsize=512)
def highlight(code: str, language: str) -> SafeString:
    """Return code of our own as HTML. language: a name that Pygments knows."""
    lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    pieces = ((_class_of(token_type), text) for token_type, text in lexer.get_tokens(code))
    runs = ((name, "".join(text for _, text in run)) for name, run in groupby(pieces, key=lambda piece: piece[0]))
    return format_html_join("", "{}", ((_span(name, text),) for name, text in runs))


def _class_of(token_type: Any) -> str:
    return next((CLASSES[one] for one in reversed(token_type.split()) if one in CLASSES), "")


def _span(name: str, text: str) -> str:
    return format_html('<span class="hl-{}">{}</span>', name, text) if name else conditional_escape(text)
