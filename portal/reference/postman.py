"""The page about Postman, which imports the OpenAPI description and needs a script to sign requests."""

from functools import lru_cache
from pathlib import Path

from django.template.loader import render_to_string

SIGN, REMEMBER = (Path(__file__).with_name(f"postman_{name}.js") for name in ("sign", "remember"))


@lru_cache(maxsize=8)
def page(base_url: str) -> str:
    """Render the page. base_url: of the service, without a slash at the end."""
    context = {"markdown": "postman", "base_url": base_url, "sign": SIGN.read_text(), "remember": REMEMBER.read_text()}
    return render_to_string("docs/postman.html", context)
