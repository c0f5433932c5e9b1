"""The columns and the filter of staff accounts, in words."""

from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from backoffice.lists.cells import badge, moment
from backoffice.lists.filters import ChoiceFilter
from staff.accounts import (
    DORMANT_DAYS,
    SignIn,
    StaffState,
    dormant_days,
    role_names,
    second_factors,
    sign_in_methods,
    state_of,
)
from staff.models import Staff
from staff.roles import in_words

_BADGES = {StaffState.ACTIVE: "good", StaffState.INVITED: "warning"}
_KINDS = {Authenticator.Type.WEBAUTHN: _("Passkey"), Authenticator.Type.TOTP: _("Authenticator app")} | {
    SignIn.OIDC: SignIn.OIDC.label
}
_CONDITIONS = {
    StaffState.ACTIVE: Q(is_active=True, is_staff=True, password_is_one_time=False),
    StaffState.INVITED: Q(is_active=True, is_staff=True, password_is_one_time=True),
    StaffState.DISABLED: Q(is_active=False),
}


class StateFilter(ChoiceFilter):
    """By the state of the account."""

    title, parameter_name = _("state"), "state"
    options = tuple((state.value, state.label) for state in _CONDITIONS)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(_CONDITIONS[StaffState(self.value())]) if self.value() in _CONDITIONS else queryset


@admin.display(description=_("username"))
def login_name(staff: Staff) -> str:
    """The username, which does not change, without the rules for a new one."""
    return staff.get_username()


@admin.display(description=_("name"))
def person(staff: Staff) -> str:
    """The person's name."""
    return staff.get_full_name() or "–"


@admin.display(description=_("roles"))
def roles(staff: Staff) -> str:
    """The names of the roles."""
    return ", ".join(map(in_words, role_names(staff))) or "–"


@admin.display(description=_("second factor"))
def second_factor(staff: Staff) -> str:
    """What kinds of second factors the person has enrolled; those of a list are loaded at once."""
    kinds = getattr(staff, "second_factors", None)
    if kinds is None:
        kinds = second_factors([staff]).get(staff.pk, set())
    return ", ".join(str(text) for kind, text in _KINDS.items() if kind in kinds) or str(_("None yet"))


@admin.display(description=_("last sign-in"))
def last_sign_in(staff: Staff) -> str:
    """When the person signed in last, and a mark where nobody has used an active account for long."""
    when = moment(staff.last_login) if staff.last_login else str(_("Never"))
    days = dormant_days(staff)
    if not staff.is_active or days < DORMANT_DAYS:
        return when
    return format_html(
        "{} {}", when, badge(ngettext("%(days)d day unused", "%(days)d days unused", days) % {"days": days}, "warning")
    )


@admin.display(description=_("sign-in"))
def sign_in(staff: Staff) -> str:
    """How the person signs in; of a list, loaded at once."""
    method = getattr(staff, "sign_in_method", None) or sign_in_methods([staff])[staff.pk]
    return str(method.label)


@admin.display(description=_("state"))
def state(staff: Staff) -> str:
    """The state, in words and a colour."""
    present = state_of(staff)
    return badge(present.label, _BADGES.get(present, "off"))
