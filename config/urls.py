"""Where each path leads."""

from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from partners.api.views import UnknownPath

urlpatterns = [
    path("v1/", include("partners.urls")),
    path("v1/", include("users.urls")),
    path("v1/", include("transactions.urls")),
    # A view, because Django's own 404 page is HTML, and a prefix, because `.` does not match a line feed.
    re_path(r"^v1(?:/|\Z)", UnknownPath.as_view()),
    path("admin/account/", include("allauth.account.urls")),
    path("admin/account/mfa/", include("allauth.mfa.urls")),
    path("admin/", include("users.backoffice.urls")),
    path("admin/", admin.site.urls),
    # APPEND_SLASH is off for the contract's sake.
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    path("", RedirectView.as_view(pattern_name="admin:index")),
]
