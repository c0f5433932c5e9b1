"""Where each path under /v1 leads: a list of views, with nothing nested (partners/api/middleware.py)."""

from django.urls import re_path

import partners.urls
import transactions.urls
import users.urls
from partners.api.views import UnknownPath

urlpatterns = [
    *transactions.urls.urlpatterns,
    *users.urls.urlpatterns,
    *partners.urls.urlpatterns,
    # A view, because Django's own 404 page is HTML, and a prefix, because `.` does not match a line feed.
    re_path(r"^v1(?:/|\Z)", UnknownPath.as_view()),
]
