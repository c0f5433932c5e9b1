"""How a new key is shown, by the commands that make one."""

from collections.abc import Iterable

from partners.authentication.keys import IssuedKey
from partners.management.base import Outcome, moment


def issued_key(issued: IssuedKey, further: Iterable[str] = ()) -> Outcome:
    """The key and its secret, this once. further: lines for people, in front of what always holds."""
    record = issued.record
    expires_at = moment(record.expires_at)
    lines = [
        f"API key:  {issued.api_key}",
        f"Secret:   {issued.secret}",
        f"Label:    {record.label or '-'}",
        f"Expires:  {expires_at or 'never'}",
        *further,
        "The key and the secret are shown this once and cannot be read back: hand them over safely now.",
    ]
    if not record.partner.enabled:
        slug = record.partner.slug
        lines.append(f"Partner {slug} is disabled: the key is refused until `set_partner {slug} --enable`.")
    return Outcome(
        {"apiKey": issued.api_key, "secret": issued.secret, "label": record.label, "expiresAt": expires_at}, lines
    )
