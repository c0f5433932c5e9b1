"""Risk flags: unusual properties of a user, each with an explanation, for the staff who decide; they are not errors.

A flag is its code and its data, from which its text is made: so each decision keeps it (decision_basis.py).
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Self
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Exists, Func, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Lower
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from users.decisions.reasons import label_of
from users.models import Status, StatusChange, User
from users.profile.labels import display_moment

OTHERS_SHOWN = 5


class Weight(models.IntegerChoices):
    """How much a risk flag matters. HARMLESS: staff need not act on it."""

    HARMLESS = 0, gettext_lazy("Harmless")
    ORDINARY = 1, gettext_lazy("To check")
    GRAVE = 2, gettext_lazy("Grave")


@dataclass(frozen=True)
class RiskFlag:
    """A class is a kind of risk flag, an instance the flag of a user.

    meaning: what it says of any user, as `why` does of one. condition: which users have it. is_indexed: whether they
    are few, by an index. needs_note: whether an approval needs a note. shows_identity: whether it reveals something of
    a birth date, an address or the file.

    data: JSON values. others: at most OTHERS_SHOWN other users, decision: the earlier one, that the flag is about.
    """

    code: ClassVar[str]
    title: ClassVar[Any]
    meaning: ClassVar[Any]
    condition: ClassVar[Q]
    weight: ClassVar[Weight] = Weight.ORDINARY
    is_indexed: ClassVar[bool] = False
    needs_note: ClassVar[bool] = False
    shows_identity: ClassVar[bool] = False

    data: Mapping[str, Any]
    others: tuple[User, ...] = ()
    decision: StatusChange | None = None

    @classmethod
    def of(cls, user: User) -> Self | None:
        """The flag of a user who has it; None where the row that it was about has just changed or gone."""
        return cls({})

    @property
    def why(self) -> str:
        """The explanation, from the data alone."""
        return str(self.meaning)


# All kinds by their codes, the gravest first.
RISK_FLAGS: dict[str, type[RiskFlag]] = {}


def register(*kinds: type[RiskFlag]) -> None:
    """Add kinds of risk flags; of equal weight, they stand in the order of their registration."""
    for kind in sorted([*RISK_FLAGS.values(), *kinds], key=lambda kind: -kind.weight):
        RISK_FLAGS[kind.code] = RISK_FLAGS.pop(kind.code, kind)


def visible_flags(*, sees_identity: bool) -> list[type[RiskFlag]]:
    """The kinds that a reader gets. sees_identity: whether the reader may see birth dates, addresses and the file."""
    return [kind for kind in RISK_FLAGS.values() if sees_identity or not kind.shows_identity]


def approval_needs_note(codes: Collection[str], basis: Mapping[str, Any] | None = None) -> str:
    """Why a user with these flags, not counting those of a basis, is let through only with a note; empty if without."""
    new = set(codes) - {flag["code"] for flag in (basis or {}).get("riskFlags", ())}
    if {PreviouslyRejected.code, Changed.code} <= new:
        return _("The user was rejected before and has changed since: add a note that says why.")
    noted = [kind for kind in RISK_FLAGS.values() if kind.needs_note and kind.code in new]
    return _("%(flag)s: add a note that says why.") % {"flag": noted[0].title} if noted else ""


def with_risk_flags(users: QuerySet[User], *, sees_identity: bool = True) -> QuerySet[Any]:
    """These users, each with the codes of its risk flags as `flag_codes`, the gravest first."""
    kinds = visible_flags(sees_identity=sees_identity)
    codes = [
        models.Case(models.When(kind.condition, then=Value(kind.code)), output_field=models.TextField())
        for kind in kinds
    ]
    listed = Func(
        *codes, template="array_remove(ARRAY[%(expressions)s], NULL)", output_field=ArrayField(models.TextField())
    )
    return users.annotate(flag_codes=listed)


def risk_flag_codes(users: Collection[User], *, sees_identity: bool = True) -> dict[UUID, list[str]]:
    """The codes of the risk flags of each of these users, the gravest first, in one statement; none of erased users."""
    stored = with_risk_flags(User.objects.filter(pk__in=[user.pk for user in users]), sees_identity=sees_identity)
    found = dict(stored.values_list("pk", "flag_codes"))
    return {user.pk: found.get(user.pk, []) for user in users}


def risk_flags_for(user: User, codes: Collection[str], *, sees_identity: bool = True) -> list[RiskFlag]:
    """The risk flags of a user who has these codes, the gravest first; a statement for each that names other rows."""
    kinds = visible_flags(sees_identity=sees_identity)
    return [flag for kind in kinds if kind.code in codes and (flag := kind.of(user))]


def _decisions(to_status: Status, user: Any, before: Any) -> QuerySet[StatusChange]:
    return StatusChange.objects.filter(user=user, created_at__lt=before, to_status=to_status)


class PreviouslyRejected(RiskFlag):
    """A rejection before the decision that led to the present status."""

    code, weight, to_status = "previouslyRejected", Weight.GRAVE, Status.REJECTED
    title = gettext_lazy("Previously rejected")
    meaning = gettext_lazy("The user was rejected before, and the case reopened.")
    condition = Q(Exists(_decisions(to_status, OuterRef("pk"), OuterRef("status_since"))))

    @classmethod
    def of(cls, user: User) -> Self | None:
        rows = _decisions(cls.to_status, user.pk, user.status_since).select_related("by").order_by("-created_at")
        if not (last := rows.first()):
            return None
        reason = {"reasonCode": last.reason_code, "reason": last.reason}
        return cls({"decidedAt": last.created_at.isoformat(), "by": last.by.get_username(), **reason}, decision=last)

    @property
    def why(self) -> str:
        at = display_moment(datetime.fromisoformat(self.data["decidedAt"]))
        reason = label_of(self.data["reasonCode"]) or self.data["reason"]
        return _("%(at)s, by %(by)s: %(reason)s") % {"at": at, "by": self.data["by"], "reason": reason}


class PreviouslySuspended(PreviouslyRejected):
    """A suspension before it."""

    code, to_status = "previouslySuspended", Status.SUSPENDED
    title = gettext_lazy("Previously suspended")
    meaning = gettext_lazy("The user was suspended before.")
    condition = Q(Exists(_decisions(to_status, OuterRef("pk"), OuterRef("status_since"))))


def _others(column: Callable[[str], Any]) -> QuerySet[User]:
    """Other users, of any partner of the same mode. column: gives the expression of a column of the user."""
    return User.objects.exclude(pk=column("pk")).filter(is_sandbox=column("is_sandbox"))


class SameEmail(RiskFlag):
    """The same address in any letter case, by the index user_email_prefix."""

    code = "sameEmail"
    title = gettext_lazy("Same email address as another user")
    meaning = gettext_lazy("Another user, of any partner, has this email address.")

    @staticmethod
    def having(column: Callable[[str], Any]) -> QuerySet[User]:
        """The others who have it."""
        return _others(column).alias(low=Lower("email")).filter(low=Lower(column("email")))

    condition = Q(Exists(having(OuterRef)))

    @classmethod
    def of(cls, user: User) -> Self | None:
        found = cls.having(lambda name: Value(getattr(user, name))).select_related("partner")
        # One more than is shown, for hasMore. Ordered here: thousands of users may share a mailbox.
        users = sorted(found[: OTHERS_SHOWN + 1], key=lambda one: (one.created_at, one.pk))
        shown = tuple(users[:OTHERS_SHOWN])
        data = {"userIds": [str(one.pk) for one in shown], "hasMore": len(users) > OTHERS_SHOWN}
        return cls(data, others=shown) if users else None

    @property
    def why(self) -> str:
        count = len(self.data["userIds"])
        more = _("More than %(count)s other users have it.")
        text = ngettext("One other user has it.", "%(count)s other users have it.", count)
        return (more if self.data["hasMore"] else text) % {"count": count}


class SamePerson(SameEmail):
    """The same folded name, first and last name exchanged too, and birth date, by user_birth_and_name."""

    code, shows_identity = "samePerson", True
    title = gettext_lazy("Same name and birth date as another user")
    meaning = gettext_lazy("Another user, of any partner, has this name and birth date.")

    @staticmethod
    def having(column: Callable[[str], Any]) -> QuerySet[User]:
        """The others who have them."""
        return _others(column).filter(date_of_birth=column("date_of_birth"), name_key=column("name_key"))

    condition = Q(Exists(having(OuterRef)))


class Changed(RiskFlag):
    """A change since the last decision; a reopening is not one on the profile."""

    code = "changed"
    title = gettext_lazy("Changed since the last decision")
    meaning = gettext_lazy("The partner changed the profile after staff had decided about it.")
    _verdicts = StatusChange.objects.filter(user=OuterRef("pk")).exclude(to_status=Status.PENDING_COMPLIANCE)
    condition = Q(profile_changed_at__gt=Subquery(_verdicts.order_by("-created_at").values("created_at")[:1]))


class PostalCode(RiskFlag):
    """How the postal codes of a province begin is in the database's function."""

    code, shows_identity = "postalCode", True
    title = gettext_lazy("Postal code outside the province")
    meaning = gettext_lazy("The postal code is not one of the province.")
    _columns: Any = ("country", "province", "postal_code")
    condition = ~Q(Func(*_columns, function="users_postal_code_fits", output_field=models.BooleanField()))

    @classmethod
    def of(cls, user: User) -> Self:
        return cls({"province": user.province, "postalCode": user.postal_code})

    @property
    def why(self) -> str:
        names = {"province": self.data["province"], "postal_code": self.data["postalCode"]}
        return _("%(postal_code)s is not a postal code of %(province)s.") % names


class CiroAffiliate(RiskFlag):
    """What the partner says of the user."""

    code, weight, condition = "ciroAffiliate", Weight.HARMLESS, Q(is_ciro_affiliate=True)
    title = gettext_lazy("CIRO affiliate")
    meaning = gettext_lazy("The user is affiliated with a dealer that CIRO regulates.")


register(PreviouslyRejected, PreviouslySuspended, SamePerson, SameEmail, Changed, PostalCode, CiroAffiliate)
