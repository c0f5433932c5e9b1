"""Risk flags: unusual properties of a user, each with an explanation, for the staff who decide.

They are not errors: every user has passed the rules of the contract. A flag is its code and its data, from which its
texts are made: so it is recorded with each decision (users/decisions/decision_basis.py).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import IntEnum, StrEnum
from typing import Any
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db.models import (
    BooleanField,
    Case,
    Exists,
    F,
    Func,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    Value,
    When,
)
from django.db.models.expressions import Combinable
from django.db.models.functions import Lower
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from users.decisions.reasons import label_of
from users.models import Status, StatusChange, User
from users.profile import field_rules
from users.profile.labels import display_moment

OTHERS_SHOWN = 5
JUST_ADULT_DAYS = 30
# Columns of the user of the outer query.
OTHERS: dict[str, Any] = {"pk": OuterRef("pk"), "is_sandbox": OuterRef("is_sandbox")}


class FlagCode(StrEnum):
    """The kinds of risk flags, the gravest first."""

    PREVIOUSLY_REJECTED = "previouslyRejected"
    PREVIOUSLY_SUSPENDED = "previouslySuspended"
    INACTIVE_CONVERSION = "inactiveConversion"
    SAME_PERSON = "samePerson"
    SAME_EMAIL = "sameEmail"
    CHANGED = "changed"
    EARLY_CONVERSION = "earlyConversion"
    POSTAL_CODE = "postalCode"
    JUST_ADULT = "justAdult"
    CIRO_AFFILIATE = "ciroAffiliate"


class Weight(IntEnum):
    """How much a risk flag matters. HARMLESS: staff need not act on it."""

    HARMLESS = 0
    ORDINARY = 1
    GRAVE = 2

    @property
    def label(self) -> str:
        """The weight in a word, for people."""
        return str(_WEIGHT_LABELS[self])


_WEIGHT_LABELS = {
    Weight.HARMLESS: gettext_lazy("Harmless"),
    Weight.ORDINARY: gettext_lazy("To check"),
    Weight.GRAVE: gettext_lazy("Grave"),
}


# The flags of an earlier decision, by the status that it led to.
_ADVERSE = {Status.REJECTED: FlagCode.PREVIOUSLY_REJECTED, Status.SUSPENDED: FlagCode.PREVIOUSLY_SUSPENDED}
_WEIGHTS = dict.fromkeys((*_ADVERSE.values(), FlagCode.INACTIVE_CONVERSION), Weight.GRAVE) | {
    FlagCode.CIRO_AFFILIATE: Weight.HARMLESS
}
# Conversions are of the app above: only its relation to the user is named here.
INACTIVE_CONVERSION = Q(conversions__while_inactive=True)
# Few users have these, by an index.
INDEXED_FLAGS = frozenset({FlagCode.INACTIVE_CONVERSION})
# Flags that reveal something of a birth date or an address.
IDENTITY_FLAGS = frozenset({FlagCode.POSTAL_CODE, FlagCode.SAME_PERSON, FlagCode.JUST_ADULT})
TITLES: Mapping[FlagCode, Any] = {
    FlagCode.PREVIOUSLY_REJECTED: gettext_lazy("Previously rejected"),
    FlagCode.PREVIOUSLY_SUSPENDED: gettext_lazy("Previously suspended"),
    FlagCode.INACTIVE_CONVERSION: gettext_lazy("Conversion while not active"),
    FlagCode.SAME_PERSON: gettext_lazy("Same name and birth date as another user"),
    FlagCode.SAME_EMAIL: gettext_lazy("Same email address as another user"),
    FlagCode.CHANGED: gettext_lazy("Changed since the last decision"),
    FlagCode.EARLY_CONVERSION: gettext_lazy("Conversion older than the user"),
    FlagCode.POSTAL_CODE: gettext_lazy("Postal code outside the province"),
    FlagCode.JUST_ADULT: gettext_lazy("Just turned 18"),
    FlagCode.CIRO_AFFILIATE: gettext_lazy("CIRO affiliate"),
}
# What each says of any user; `explanation` says what it found about one.
MEANINGS: Mapping[FlagCode, Any] = {
    FlagCode.PREVIOUSLY_REJECTED: gettext_lazy("The user was rejected before, and the case reopened."),
    FlagCode.PREVIOUSLY_SUSPENDED: gettext_lazy("The user was suspended before."),
    FlagCode.INACTIVE_CONVERSION: gettext_lazy("A conversion was recorded while the user was not active."),
    FlagCode.SAME_PERSON: gettext_lazy("Another user, of any partner, has this name and birth date."),
    FlagCode.SAME_EMAIL: gettext_lazy("Another user, of any partner, has this email address."),
    FlagCode.CHANGED: gettext_lazy("The partner changed the profile after staff had decided about it."),
    FlagCode.EARLY_CONVERSION: gettext_lazy("A conversion is dated before the user was registered."),
    FlagCode.POSTAL_CODE: gettext_lazy("The postal code is not one of the province."),
    FlagCode.JUST_ADULT: gettext_lazy("The 18th birthday was within the last 30 days."),
    FlagCode.CIRO_AFFILIATE: gettext_lazy("The user is affiliated with a dealer that CIRO regulates."),
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

    @property
    def weight_label(self) -> str:
        """The weight in a word, for people."""
        return weight_of(self.code).label


def weight_of(code: FlagCode) -> Weight:
    """How much flags of this kind matter."""
    return _WEIGHTS.get(code, Weight.ORDINARY)


def approval_needs_note(codes: Collection[FlagCode]) -> bool:
    """Whether a user with these flags is let through only with a note: rejected before, and changed since."""
    return {FlagCode.PREVIOUSLY_REJECTED, FlagCode.CHANGED} <= set(codes)


def is_visible(code: FlagCode, *, sees_identity: bool) -> bool:
    """Whether a reader gets flags of this kind. sees_identity: whether the reader may see birth dates and addresses."""
    return sees_identity or code not in IDENTITY_FLAGS


def with_risk_flags(users: QuerySet[User], *, sees_identity: bool = True) -> QuerySet[Any]:
    """These users, each with the codes of its risk flags as `flag_codes`, the gravest first. The one home of each flag.

    sees_identity: see is_visible.
    """
    conditions = _conditions()
    visible = [code for code in FlagCode if is_visible(code, sees_identity=sees_identity)]
    codes = [Case(When(conditions[code], then=Value(code.value)), output_field=TextField()) for code in visible]
    listed = Func(*codes, template="array_remove(ARRAY[%(expressions)s], NULL)", output_field=ArrayField(TextField()))
    return users.annotate(flag_codes=listed)


def having_flag(users: QuerySet[User], code: FlagCode) -> QuerySet[User]:
    """Those of these users who have this risk flag."""
    return users.filter(_conditions()[code])


def risk_flag_codes(users: Collection[User], *, sees_identity: bool = True) -> dict[UUID, list[FlagCode]]:
    """The codes of the risk flags of each of these users, the gravest first, in one statement; none of erased users."""
    stored = with_risk_flags(User.objects.filter(pk__in=[user.pk for user in users]), sees_identity=sees_identity)
    found = dict(stored.values_list("pk", "flag_codes"))
    return {user.pk: [FlagCode(code) for code in found.get(user.pk, ())] for user in users}


def _conditions() -> Mapping[FlagCode, Q]:
    """When a user has each flag."""
    before = StatusChange.objects.filter(user=OuterRef("pk"), created_at__lt=OuterRef("status_since"))
    # A reopening is not a decision on the profile.
    verdicts = StatusChange.objects.filter(user=OuterRef("pk")).exclude(to_status=Status.PENDING_COMPLIANCE)
    decided_at = Subquery(verdicts.order_by("-created_at").values("created_at")[:1])
    fits: Any = Func(
        *("country", "province", "postal_code"), function="users_postal_code_fits", output_field=BooleanField()
    )
    early = User.objects.filter(pk=OuterRef("pk"), conversions__created_at__lt=F("created_at"))
    today = field_rules.today()
    month_ago = today - timedelta(days=JUST_ADULT_DAYS)
    return {
        **{code: Q(Exists(before.filter(to_status=status))) for status, code in _ADVERSE.items()},
        FlagCode.SAME_PERSON: Q(Exists(same_person(OuterRef("name_key"), OuterRef("date_of_birth"), **OTHERS))),
        FlagCode.SAME_EMAIL: Q(Exists(same_email(OuterRef("email"), **OTHERS))),
        FlagCode.CHANGED: Q(profile_changed_at__gt=decided_at),
        FlagCode.INACTIVE_CONVERSION: Q(pk__in=User.objects.filter(INACTIVE_CONVERSION).values("pk")),
        FlagCode.EARLY_CONVERSION: Q(Exists(early)),
        FlagCode.POSTAL_CODE: ~Q(fits),
        FlagCode.JUST_ADULT: Q(
            date_of_birth__gt=field_rules.latest_birth_of_adults(month_ago),
            date_of_birth__lte=field_rules.latest_birth_of_adults(today),
        ),
        FlagCode.CIRO_AFFILIATE: Q(is_ciro_affiliate=True),
    }


def risk_flags_for(user: User, *, sees_identity: bool = True) -> list[RiskFlag]:
    """The risk flags of a user, the gravest first, in at most six statements. sees_identity: see is_visible."""
    codes = risk_flag_codes([user], sees_identity=sees_identity)[user.pk]
    decisions = _earlier_decisions(user) if not set(codes).isdisjoint(_ADVERSE.values()) else {}
    return [flag for code in codes if (flag := _flag(code, user, decisions))]


def _flag(code: FlagCode, user: User, decisions: Mapping[FlagCode, StatusChange]) -> RiskFlag | None:
    """A flag with its data; None where the row that it was about has just changed or gone."""
    others = {"pk": user.pk, "is_sandbox": user.is_sandbox}
    match code:
        case FlagCode.PREVIOUSLY_REJECTED | FlagCode.PREVIOUSLY_SUSPENDED:
            decision = decisions.get(code)
            return RiskFlag(code, _data_of_decision(decision), decision=decision) if decision else None
        case FlagCode.SAME_PERSON:
            return _shared(code, same_person(Value(user.name_key), user.date_of_birth, **others))
        case FlagCode.SAME_EMAIL:
            return _shared(code, same_email(Value(user.email), **others))
        case FlagCode.INACTIVE_CONVERSION:
            return _dated(code, user.conversions.filter(while_inactive=True).order_by("-recorded_at"), "recorded_at")
        case FlagCode.EARLY_CONVERSION:
            return _dated(code, user.conversions.order_by("created_at"), "created_at")
        case _:
            return RiskFlag(code, _data_of_profile(code, user))


def _data_of_profile(code: FlagCode, user: User) -> dict[str, Any]:
    if code == FlagCode.POSTAL_CODE:
        return {"province": user.province, "postalCode": user.postal_code}
    if code == FlagCode.JUST_ADULT:
        return {"adultOn": field_rules.adult_on(user.date_of_birth).isoformat()}
    return {}


def _dated(code: FlagCode, conversions: QuerySet[Any], moment: str) -> RiskFlag | None:
    """A flag about the first of these conversions. moment: its column that is told."""
    at: datetime | None = conversions.values_list(moment, flat=True).first()
    return RiskFlag(code, {"at": at.isoformat()}) if at else None


# Flags of earlier decisions


def _earlier_decisions(user: User) -> dict[FlagCode, StatusChange]:
    """The latest adverse decision of each kind before the one that led to the present status."""
    before = user.status_changes.filter(created_at__lt=user.status_since, to_status__in=_ADVERSE).select_related("by")
    latest = before.order_by("to_status", "-created_at").distinct("to_status")
    return {_ADVERSE[Status(decision.to_status)]: decision for decision in latest}


def _data_of_decision(decision: StatusChange) -> dict[str, Any]:
    return {
        "decidedAt": decision.created_at.isoformat(),
        "by": decision.by.get_username(),
        "reasonCode": decision.reason_code,
        "reason": decision.reason,
    }


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


def _shared(code: FlagCode, others: QuerySet[User]) -> RiskFlag | None:
    # One more than is shown, for hasMore. Ordered here: thousands of users may share a mailbox.
    users = sorted(others.select_related("partner")[: OTHERS_SHOWN + 1], key=lambda user: (user.created_at, user.pk))
    shown = tuple(users[:OTHERS_SHOWN])
    data = {"userIds": [str(user.pk) for user in shown], "hasMore": len(users) > OTHERS_SHOWN}
    return RiskFlag(code, data, others=shown) if users else None


# Texts

_MOMENTS = {
    FlagCode.INACTIVE_CONVERSION: gettext_lazy("The last one was recorded on %(at)s."),
    FlagCode.EARLY_CONVERSION: gettext_lazy("The oldest one was made on %(at)s."),
}


def explanation(code: FlagCode, data: Mapping[str, Any]) -> str:
    """Why a flag is set, from its data."""
    match code:
        case FlagCode.PREVIOUSLY_REJECTED | FlagCode.PREVIOUSLY_SUSPENDED:
            at = display_moment(datetime.fromisoformat(data["decidedAt"]))
            reason = label_of(data["reasonCode"]) or data["reason"]
            return _("%(at)s, by %(by)s: %(reason)s") % {"at": at, "by": data["by"], "reason": reason}
        case FlagCode.SAME_PERSON | FlagCode.SAME_EMAIL:
            count = len(data["userIds"])
            more = _("More than %(count)s other users have it.")
            text = ngettext("One other user has it.", "%(count)s other users have it.", count)
            return (more if data["hasMore"] else text) % {"count": count}
        case FlagCode.POSTAL_CODE:
            names = {"province": data["province"], "postal_code": data["postalCode"]}
            return _("%(postal_code)s is not a postal code of %(province)s.") % names
        case FlagCode.JUST_ADULT:
            birthday = date_format(date.fromisoformat(data["adultOn"]), "DATE_FORMAT")
            return _("The 18th birthday was on %(date)s.") % {"date": birthday}
        case FlagCode.INACTIVE_CONVERSION | FlagCode.EARLY_CONVERSION:
            return str(_MOMENTS[code]) % {"at": display_moment(datetime.fromisoformat(data["at"]))}
        case _:
            return str(MEANINGS[code])
