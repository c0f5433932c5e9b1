"""Commands of staff accounts."""

from core.management.arguments import Argument
from staff.accounts import find_staff

STAFF = Argument("staff", metavar="USERNAME", find=find_staff, help="the login name")
