"""The URLs of the API, the docs and the back office."""

from allauth.account import views as account
from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView
from django.views.i18n import set_language

import partners.api.urls
import partners.events.urls
import transactions.api.urls
import users.api.urls
from partners.api.base import UnknownPath
from users.staff_login.views import nothing

admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]

handler500 = "users.backoffice.errors.server_error"

# A flat list of views, as partners/api/middleware.py needs.
api_urlpatterns = [
    *transactions.api.urls.urlpatterns,
    *users.api.urls.urlpatterns,
    *partners.api.urls.urlpatterns,
    *partners.events.urls.urlpatterns,
    # Django's own 404 page is HTML. A prefix, because `.` does not match a line feed.
    re_path(r"^v1(?:/|\Z)", UnknownPath.as_view()),
]
urlpatterns = [
    *api_urlpatterns,
    path("", include("partners.docs.urls")),
    # In place of the admin's own pages, which have no second factor.
    path("admin/account/", include("users.staff_login.urls")),
    path("admin/language/", set_language, name="set_language"),
    path("admin/logout/", account.logout, name="staff_logout"),
    path("admin/password_change/", RedirectView.as_view(pattern_name="account_change_password")),
    # Unfold's own search and Django's of related rows, unused.
    path("admin/search/", nothing),
    path("admin/autocomplete/", nothing),
    path("admin/", include("users.backoffice.urls")),
    path("admin/", admin.site.urls),
    # APPEND_SLASH is off, as the contract's paths have no slash.
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    path("", RedirectView.as_view(pattern_name="admin:index")),
]
