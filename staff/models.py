"""Accounts of staff, their roles and second factors, each with its history."""

from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from core.audit import tracked
from core.database.triggers import refuse, trigger

# Of staff: two addresses are one only where they differ in the case of these letters.
ADDRESS_IN_LOWER_CASE = Lower("email", template='%(function)s(%(expressions)s COLLATE "C")')


@tracked(
    *("username", "email", "first_name", "last_name", "is_active", "is_staff", "is_superuser", "password_is_one_time"),
    "is_emergency",
    action="staff",
    labels=(_("Staff account created"), _("Staff account changed")),
    object="NEW.username",
)
class Staff(AbstractUser):
    """An account of the back office; never a partner's user."""

    # True while another person may know the password: the login then asks for a new one.
    password_is_one_time = models.BooleanField(_("one-time password"), default=False, db_default=False, editable=False)

    # One with a password while STAFF_PASSWORD_LOGIN is false: `create_staff --emergency`.
    is_emergency = models.BooleanField(_("emergency account"), default=False, db_default=False, editable=False)

    # The name of the account of simulated decisions (sandbox/simulations/decisions.py), which no person has.
    SANDBOX = "sandbox"

    class Meta:
        verbose_name = _("staff member")
        verbose_name_plural = _("staff")
        # allauth finds accounts in any letter case, and of two of one name neither.
        constraints = (
            models.UniqueConstraint(
                Lower("username"),
                name="staff_username_in_any_case",
                violation_error_message=_("A staff member of this name exists."),
            ),
            models.UniqueConstraint(
                ADDRESS_IN_LOWER_CASE,
                name="staff_address_of_one_account",
                condition=~models.Q(email=""),
                violation_error_message=_("An account with this email address exists."),
            ),
        )
        triggers = [
            trigger(
                "name_kept",
                "before update",
                refuse("Decisions and the history name staff: a name does not change."),
                condition="OLD.username IS DISTINCT FROM NEW.username",
            )
        ]

    def clean(self) -> None:
        """Refuse the reserved name, and an account without an address. Raises ValidationError."""
        super().clean()
        if not self.email:
            raise ValidationError({"email": _("An email address is required.")})
        # Absent where the form has refused it.
        if (self.username or "").lower() == self.SANDBOX:
            raise ValidationError({"username": _("This name is reserved for simulated decisions.")})

    def change_password(self, password: str | None, *, is_one_time: bool) -> None:
        """Store a password; None: the account has none."""
        self.set_password(password)
        self.password_is_one_time = is_one_time
        self.save(update_fields=["password", "password_is_one_time"])

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save in a transaction, which has the history's context: Django's own commands have none."""
        with transaction.atomic():
            super().save(*args, **kwargs)


@tracked(
    *("staff", "group"),
    action="staffRole",
    labels=(_("Role given"), _("Role changed"), _("Role taken away")),
    object="(SELECT username FROM staff_staff WHERE id = NEW.staff_id)",
    detail={"role": "(SELECT name FROM auth_group WHERE id = NEW.group_id)"},
)
class StaffRole(Staff.groups.through):  # type: ignore[name-defined,misc]
    """A role of a staff account."""

    class Meta:
        proxy = True
        default_permissions = ()


@tracked(
    *("user", "type"),
    action="secondFactor",
    labels=(_("Second factor enrolled"), _("Second factor changed"), _("Second factor removed")),
    object="(SELECT username FROM staff_staff WHERE id = NEW.user_id)",
    detail={"type": "NEW.type"},
)
class SecondFactor(Authenticator):  # type: ignore[misc]
    """A second factor of a staff account, or its recovery codes."""

    class Meta:
        proxy = True
        default_permissions = ()
