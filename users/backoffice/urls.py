"""Paths of the back office's own pages, under /admin/, in the order in which they are matched.

Each module names its own paths; their names begin with `backoffice_`.
"""

from django.urls import URLPattern

from users.backoffice import case_buttons, dashboard, landing
from users.backoffice.case import views as case
from users.backoffice.exports import views as exports

urlpatterns: list[URLPattern] = [
    *landing.urlpatterns,
    *case_buttons.urlpatterns,
    *case.urlpatterns,
    *dashboard.urlpatterns,
    *exports.urlpatterns,
]
