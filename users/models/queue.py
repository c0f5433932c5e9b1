"""The lists of cases: users who wait for somebody, as proxies with admins of their own."""

from users.models.user import User


class QueuedUser(User):
    """A user in the queue. Who may see users sees it: there are no permissions of its own."""

    class Meta:
        proxy = True
        default_permissions = ()
        verbose_name = User._meta.verbose_name
        verbose_name_plural = User._meta.verbose_name_plural


class ChangedUser(User):
    """An active user whose name or birth date changed since the approval."""

    class Meta:
        proxy = True
        default_permissions = ()
        verbose_name = User._meta.verbose_name
        verbose_name_plural = User._meta.verbose_name_plural
