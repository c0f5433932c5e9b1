"""Holds: what keeps a user's records (docs/operations.md, "Records")."""

import uuid

import pgtrigger
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from core.audit import entry_trigger, register
from core.database.triggers import PermanentTrigger, append_only, json_object, refuse, stamped
from staff.models import Staff
from users.models.columns import names_of_user
from users.models.user import User

HOLD_REASON_LENGTH = 2000
# SQL of whether a user is held.
IS_HELD = """EXISTS (
    SELECT FROM users_hold hold WHERE hold.user_id = {user}.id
       AND NOT EXISTS (SELECT FROM users_holdrelease release WHERE release.hold_id = hold.id))"""


_BY = "(SELECT username FROM staff_staff WHERE id = NEW.by_id)"
_HELD = register("user.held", _("User held"))
_RELEASED = register("user.released", _("Hold released"))

_BY_KEEPER = f"""
            IF NOT staff_may(NEW.by_id, 'keep_records') THEN
                {refuse("An active account that may decide, or audits, does this.")}
            END IF;"""

HOLD_TRIGGERS = [
    stamped("created_at"),
    PermanentTrigger(
        name="of_real_user",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        declare=[("present", "users_user%ROWTYPE")],
        func=f"""{_BY_KEEPER}
            -- Waits for an erasure; then there is no such user.
            SELECT * INTO present FROM users_user WHERE id = NEW.user_id FOR NO KEY UPDATE;
            IF present.is_sandbox THEN
                {refuse("The records of sandbox users have no retention.")}
            END IF;
            RETURN NEW;
        """,
    ),
    entry_trigger(
        f"'{_HELD}'",
        object="NEW.user_id::text",
        detail=json_object({"hold": "NEW.id", "reason": "NEW.reason"}),
        actor=_BY,
        further=names_of_user("NEW.user_id"),
    ),
]

RELEASE_TRIGGERS = [
    stamped("created_at"),
    PermanentTrigger(
        name="by_another",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        func=f"""{_BY_KEEPER}
            IF NEW.by_id = (SELECT by_id FROM users_hold WHERE id = NEW.hold_id) THEN
                {refuse("Another person releases a hold than the one who placed it.")}
            END IF;
            RETURN NEW;
        """,
    ),
    entry_trigger(
        f"'{_RELEASED}'",
        object="(SELECT user_id::text FROM users_hold WHERE id = NEW.hold_id)",
        detail=json_object({"hold": "NEW.hold_id", "reason": "NEW.reason"}),
        actor=_BY,
        further=names_of_user("(SELECT user_id FROM users_hold WHERE id = NEW.hold_id)"),
    ),
]


class Hold(models.Model):
    """What keeps a user's records whatever the clock says, until another person releases it. Never updated."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.PROTECT, verbose_name=_("user"), related_name="holds", db_index=False)
    by = models.ForeignKey(Staff, models.PROTECT, verbose_name=_("by"), related_name="+", db_index=False)
    reason = models.CharField(_("reason"), max_length=HOLD_REASON_LENGTH)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("hold")
        verbose_name_plural = _("holds")
        default_permissions = ("view",)
        indexes = (models.Index(fields=("user", "created_at"), name="hold_of_user"),)
        constraints = (models.CheckConstraint(condition=Q(reason__regex=r"\S"), name="hold_reason_given"),)
        triggers = [*HOLD_TRIGGERS, *append_only()]

    def __str__(self) -> str:
        return str(self.id)


class HoldRelease(models.Model):
    """The end of a hold, by another person than the one who placed it. Never updated."""

    hold = models.OneToOneField(Hold, models.PROTECT, primary_key=True, verbose_name=_("hold"), related_name="release")
    by = models.ForeignKey(Staff, models.PROTECT, verbose_name=_("by"), related_name="+", db_index=False)
    reason = models.CharField(_("reason"), max_length=HOLD_REASON_LENGTH)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("released hold")
        verbose_name_plural = _("released holds")
        default_permissions = ("view",)
        constraints = (models.CheckConstraint(condition=Q(reason__regex=r"\S"), name="release_reason_given"),)
        triggers = [*RELEASE_TRIGGERS, *append_only()]

    def __str__(self) -> str:
        return str(self.hold_id)
