"""The profile history in words: what each of its entries changed."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import OuterRef, Subquery
from django.utils.translation import gettext as _

from users.decisions.changes import FieldChange, differences
from users.models import UserEvent


def with_previous(events: Sequence[Any]) -> list[tuple[Any, Any | None]]:
    """Each event with the one before it of the same user; None for the user's first. In two statements."""
    earlier = UserEvent.objects.filter(pgh_obj=OuterRef("pgh_obj"), pgh_id__lt=OuterRef("pgh_id")).order_by("-pgh_id")
    found = UserEvent.objects.filter(pk__in=[event.pk for event in events])
    previous = dict(found.values_list("pk", Subquery(earlier.values("pk")[:1])))
    rows = UserEvent.objects.in_bulk([pk for pk in previous.values() if pk is not None])
    return [(event, rows.get(previous.get(event.pk))) for event in events]


def display_changes(event: Any, previous: Any | None, *, sees_identity: bool) -> str:
    """What an event changed, such as *Last name: Okafor → Okafor-Gagnon*, of the fields that the reader may see."""
    if previous is None:
        return _("Submitted")
    texts = [
        _("%(field)s: %(old)s → %(new)s") % {"field": change.label, "old": change.old, "new": change.new}
        for change in _changes(event, previous, sees_identity=sees_identity)
    ]
    if not texts and previous.profile_changed_at != event.profile_changed_at:
        return _("Profile changed")
    return "; ".join(texts)


def _changes(event: Any, previous: Any, *, sees_identity: bool) -> Iterator[FieldChange]:
    if event.status != previous.status:
        yield FieldChange("status", previous.status, event.status)
    yield from differences(previous, event, sees_identity=sees_identity)
