"""What the queue may be narrowed to, and what that means in SQL."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from django import forms
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from partners.models import Partner
from users.backoffice.queue.search import TERM_LENGTH, found_by
from users.backoffice.waiting_time import AgeState, limits
from users.models import Claim, Staff, Status

ME, NOBODY = "me", "nobody"
YES, NO = "yes", "no"
_ANY = ("", _("Any"))


@dataclass(frozen=True, slots=True)
class View:
    """A named list of cases. page_title: as the sidebar has it. title: which users it lists.

    since: the column that says since when they wait, by which they are ordered.
    always: what holds of each of its users, as the list's index has it.
    """

    name: str
    url_name: str
    page_title: Any
    title: Any
    since: str
    always: Q = field(default_factory=Q)


WAITING = View("waiting", "backoffice_queue", _("Queue"), _("Waiting for a decision"), "status_since")
CHANGED = View(
    "changed",
    "backoffice_changed",
    _("Changed since approval"),
    _("Active, name or birth date changed"),
    "identity_changed_at",
    Q(status=Status.ACTIVE, identity_changed_at__isnull=False),
)


class QueueFilters(forms.Form):
    """The filters as they stand in the page's address. Each may be left out."""

    q = forms.CharField(label=_("Search"), max_length=TERM_LENGTH, required=False)
    status = forms.ChoiceField(label=_("Status"), required=False)
    partner = forms.ModelChoiceField(
        label=_("Partner"), queryset=Partner.objects.order_by("name", "pk"), required=False, empty_label=_ANY[1]
    )
    waiting = forms.ChoiceField(label=_("Waiting time"), required=False, choices=[_ANY, *AgeState.choices])
    claimed = forms.ChoiceField(
        label=_("Claimed by"), required=False, choices=[_ANY, (ME, _("Me")), (NOBODY, _("Nobody"))]
    )
    hints = forms.ChoiceField(
        label=_("Hints"), required=False, choices=[_ANY, (YES, _("With hints")), (NO, _("Without hints"))]
    )
    ciro = forms.ChoiceField(label=_("CIRO affiliate"), required=False, choices=[_ANY, (YES, _("Yes")), (NO, _("No"))])
    province = forms.CharField(label=_("Province code"), max_length=100, required=False)
    country = forms.CharField(label=_("Country code"), max_length=2, required=False)

    def __init__(self, data: Mapping[str, str], *, view: View, staff: Staff) -> None:
        # Whoever searches, or asks for their own cases, means all of them; whoever does not, those who wait.
        searching = bool(data.get("q", "").strip()) or data.get("claimed") == ME
        if not searching:
            data = {**data, "status": data.get("status") or Status.PENDING_COMPLIANCE.value}
        super().__init__(data, auto_id="queue-%s", label_suffix="")
        self.view, self.staff = view, staff
        choices = [_ANY, *Status.choices] if searching else Status.choices
        cast("forms.ChoiceField", self.fields["status"]).choices = choices
        if view is CHANGED:
            del self.fields["status"]

    def criteria(self, *, now: datetime) -> "Criteria":
        """What the filters mean; they must be valid."""
        return Criteria(view=self.view, staff=self.staff, now=now, values=self.cleaned_data)

    def given(self) -> dict[str, str]:
        """The filters that are set, as the page's address has them; that of those who wait goes without saying."""
        return {
            name: value
            for name in self.fields
            if (value := str(self.data.get(name) or "").strip())
            and (name, value) != ("status", Status.PENDING_COMPLIANCE.value)
        }


@dataclass(frozen=True, slots=True)
class Criteria:
    """The users that a list is of.

    They come in three kinds, by what they cost: `ranged` is a range of the list's index; `found` is a set
    that another index gives, bounded; `narrow` is looked at row by row, so whoever walks the list must
    end somewhere.
    """

    view: View
    staff: Staff
    now: datetime
    values: Mapping[str, Any]

    @property
    def ranged(self) -> Q:
        """Conditions that the index of the list's order serves."""
        condition = self.view.always
        if status := self.values.get("status"):
            condition &= Q(status=status)
        if waiting := self.values.get("waiting"):
            condition &= self._waiting(AgeState(waiting))
        return condition

    def _waiting(self, state: AgeState) -> Q:
        soon, late = limits(self.now)
        since = self.view.since
        return {
            AgeState.LATE: Q((f"{since}__lte", late)),
            AgeState.DUE_SOON: Q((f"{since}__gt", late), (f"{since}__lte", soon)),
            AgeState.IN_TIME: Q((f"{since}__gt", soon)),
        }[state]

    @property
    def found(self) -> Q | None:
        """The users of a search, or of a person's claims; None where all are walked through."""
        condition = None
        if term := self.values.get("q"):
            condition = found_by(term)
        if self.values.get("claimed") == ME:
            mine = Q(pk__in=Claim.objects.filter(staff=self.staff).values("user"))
            condition = mine if condition is None else condition & mine
        return condition

    @property
    def narrow(self) -> Q:
        """Conditions that no index serves in the list's order."""
        condition = Q()
        if partner := self.values.get("partner"):
            condition &= Q(partner=partner)
        if province := self.values.get("province"):
            condition &= Q(province__in={province, province.upper()})
        if country := self.values.get("country"):
            condition &= Q(country=country.upper())
        if ciro := self.values.get("ciro"):
            condition &= Q(is_ciro_affiliate=ciro == YES)
        if self.values.get("claimed") == NOBODY:
            condition &= Q(claim__isnull=True)
        return condition

    @property
    def with_hints(self) -> bool | None:
        """Whether users with hints are wanted, or those without; None: both."""
        return {YES: True, NO: False}.get(self.values.get("hints", ""))
