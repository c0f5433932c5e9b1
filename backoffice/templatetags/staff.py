"""Who can help, on the pages between the password and the second factor."""

from django import template

from users.staff.staff_access import administrators

register = template.Library()

MAX_NAMES = 5


@register.simple_tag(name="administrators")
def names_of_administrators() -> list[str]:
    """The names of at most MAX_NAMES administrators; superusers only where there is nobody else."""
    found = list(administrators())
    people = [staff for staff in found if not staff.is_superuser] or found
    return [staff.get_full_name() or staff.get_username() for staff in people[:MAX_NAMES]]
