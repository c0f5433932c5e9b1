"""The URLs under /v1: a flat list of views (partners/api/middleware.py)."""

from django.urls import re_path

import partners.api.urls
import transactions.api.urls
import users.api.urls
from partners.api.base import UnknownPath

urlpatterns = [
    *transactions.api.urls.urlpatterns,
    *users.api.urls.urlpatterns,
    *partners.api.urls.urlpatterns,
    # Django's own 404 page is HTML. A prefix, because `.` does not match a line feed.
    re_path(r"^v1(?:/|\Z)", UnknownPath.as_view()),
]
