"""The lists of cases: proxies of users, with admins of their own and the permissions of users."""

from django.utils.translation import gettext_lazy as _

from users.models.user import User


class QueuedUser(User):  # type: ignore[django-manager-missing]  # as of User
    """A user who waits for a decision."""

    class Meta:
        proxy = True
        default_permissions = ()
        verbose_name = _("user")
        verbose_name_plural = _("users")


class ChangedUser(User):  # type: ignore[django-manager-missing]
    """An active user whose name or birth date changed since the approval."""

    class Meta:
        proxy = True
        default_permissions = ()
        verbose_name = _("user")
        verbose_name_plural = _("users")
