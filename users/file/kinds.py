"""The kinds of entries in a user's file, by their codes in KINDS."""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext_lazy as _

from users.file import serializers as fields
from users.file.serializers import EntrySerializer
from users.models import FileKind


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of entries. labels: what people read for its fields; those that are not here they do not see.

    serializer, ending: of an entry, and of one that ends it. due: the field that is stored as `due_on`. topic: of the
    values, which tells entries apart of which the newest counts. secret: fields that are encrypted. choices: the codes
    of fields, with their labels. hints: what a form says below a field. icon: of Material. is_imported: whether another
    system may bring entries. list_title: of the list of open entries, empty for none. lists_all: whether that list has
    those, too, that are not due yet. is_told: whether the person's copy has them. partner_sees: what partners see;
    empty for nothing.
    """

    code: FileKind
    serializer: EntrySerializer
    labels: Mapping[str, Any]
    choices: Mapping[str, Any] = field(default_factory=dict)
    ending: EntrySerializer | None = None
    due: str = ""
    topic: Callable[[Mapping[str, Any]], str] = lambda _values: ""
    secret: AbstractSet[str] = frozenset()
    is_imported: bool = True
    hints: Mapping[str, Any] = field(default_factory=dict)
    icon: str = "folder_open"
    list_title: Any = ""
    lists_all: bool = True
    is_told: bool = False
    partner_sees: Any = ""


IDENTITY_VERIFICATION = Kind(
    code=FileKind.IDENTITY_VERIFICATION,
    serializer=fields.Verification(),
    labels={
        "method": _("Method"),
        "verifiedOn": _("Verified on"),
        "documentType": _("Document"),
        "documentNumber": _("Document number"),
        "issuingCountry": _("Issuing country"),
        "issuingSubdivision": _("Issuing province"),
        "expiresOn": _("Expires on"),
        "source": _("Source"),
        "information": _("Information"),
        "reference": _("Reference"),
    },
    choices={"method": fields.Method, "documentType": fields.IdentityDocument, "information": fields.Information},
    due="expiresOn",
    secret={"documentNumber", "reference"},
    icon="badge",
    partner_sees=_("The partner sees the method and the dates."),
    is_told=True,
)
SCREENING = Kind(
    code=FileKind.SCREENING,
    serializer=fields.Screening(),
    ending=fields.ScreeningResolution(),
    labels={
        "list": _("List"),
        "listDate": _("Date of the list"),
        "result": _("Result"),
        "reference": _("Reference"),
        "resolution": _("Resolution"),
        "note": _("Note"),
    },
    choices={"result": fields.ScreeningResult, "resolution": fields.Resolution},
    hints={"reference": _("Of the entry in the list; needed for a possible match.")},
    # A match is of one reference of one list; neither has a line break.
    topic=lambda values: f"{values['list']}\n{values.get('reference', '')}",
    icon="person_search",
    list_title=_("Screening"),
)
RISK_RATING = Kind(
    code=FileKind.RISK_RATING,
    serializer=fields.RiskRating(),
    labels={"rating": _("Rating"), "reason": _("Reason"), "reviewOn": _("Review on")},
    choices={"rating": fields.Rating},
    hints={"reviewOn": _("At most 5 years ahead.")},
    due="reviewOn",
    icon="speed",
    list_title=_("Reviews"),
    lists_all=False,
)
PERSON_REQUEST = Kind(
    code=FileKind.PERSON_REQUEST,
    serializer=fields.PersonRequest(),
    ending=fields.RequestOutcome(),
    labels={
        "request": _("Request"),
        "receivedOn": _("Received on"),
        "dueOn": _("Due on"),
        "identityCheck": _("How the identity was checked"),
        "outcome": _("Outcome"),
        "closedOn": _("Closed on"),
    },
    choices={"request": fields.Request},
    hints={"dueOn": _("30 days after it was received, unless another day is given.")},
    due="dueOn",
    icon="forum",
    list_title=_("Requests"),
    is_imported=False,
    is_told=True,
)

# In the order of pages.
KINDS: dict[str, Kind] = {kind.code: kind for kind in (IDENTITY_VERIFICATION, SCREENING, RISK_RATING, PERSON_REQUEST)}
