"""The URLs of the API, health and metrics, the docs and the back office."""

from allauth.account import views as account
from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView
from django.views.i18n import set_language

from events.feed.views import EventList
from partners.api.base import UnknownPath
from partners.api.views import IdempotencyKeyItem, Ping
from sandbox.key_views import ApiKeyCollection, ApiKeyItem, ApiKeyRotation
from sandbox.request_views import SandboxRequestItem, SandboxRequestList
from sandbox.simulations.requirements import SimulatedClosing, SimulatedRequirements
from sandbox.simulations.status import SimulatedStatus
from sandbox.simulations.transactions import SimulatedDocuments, SimulatedTransactions
from sandbox.webhook_views import WebhookCollection, WebhookItem, WebhookSecretRotation, WebhookTest
from staff.login.views import nothing
from transactions.api.views import DocumentFile, DocumentList, TransactionList
from users.api.requirements import RequirementResponses
from users.api.views import UserCollection, UserItem

admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]

handler500 = "backoffice.errors.server_error"
# allauth's.
handler429 = "staff.login.lock_out.too_many_requests"

# A flat list of views, as partners/api/middleware.py needs.
api_urlpatterns = [
    path("v1/users/<str:external_id>/transactions", TransactionList.as_view()),
    path("v1/users/<str:external_id>/documents", DocumentList.as_view()),
    path("v1/users/<str:external_id>/documents/<str:document_id>", DocumentFile.as_view()),
    path("v1/sandbox/users/<str:external_id>/transactions", SimulatedTransactions.as_view()),
    path("v1/sandbox/users/<str:external_id>/documents", SimulatedDocuments.as_view()),
    path("v1/users/<str:external_id>/requirements/<str:requirement_id>/response", RequirementResponses.as_view()),
    path("v1/sandbox/users/<str:external_id>/requirements", SimulatedRequirements.as_view()),
    path(
        "v1/sandbox/users/<str:external_id>/requirements/<str:requirement_id>/close",
        SimulatedClosing.as_view(),
    ),
    path("v1/users", UserCollection.as_view()),
    path("v1/users/<str:external_id>", UserItem.as_view()),
    path("v1/sandbox/users/<str:external_id>/status", SimulatedStatus.as_view()),
    path("v1/sandbox/webhooks", WebhookCollection.as_view()),
    path("v1/sandbox/webhooks/<str:webhook_id>", WebhookItem.as_view()),
    path("v1/sandbox/webhooks/<str:webhook_id>/test", WebhookTest.as_view()),
    path("v1/sandbox/webhooks/<str:webhook_id>/rotate-secret", WebhookSecretRotation.as_view()),
    path("v1/sandbox/api-keys", ApiKeyCollection.as_view()),
    path("v1/sandbox/api-keys/rotate", ApiKeyRotation.as_view()),
    path("v1/sandbox/api-keys/<str:api_key_prefix>", ApiKeyItem.as_view()),
    path("v1/sandbox/requests", SandboxRequestList.as_view()),
    path("v1/sandbox/requests/<str:request_id>", SandboxRequestItem.as_view()),
    path("v1/ping", Ping.as_view()),
    path("v1/idempotency-keys/<str:idempotency_key>", IdempotencyKeyItem.as_view()),
    path("v1/events", EventList.as_view()),
    # Django's own 404 page is HTML. A prefix, because `.` does not match a line feed.
    re_path(r"^v1(?:/|\Z)", UnknownPath.as_view()),
]
urlpatterns = [
    *api_urlpatterns,
    path("", include("config.monitoring")),
    path("", include("config.description")),
    path("", include("docs_site.urls")),
    # These replace the admin's own pages, which have no second factor.
    path("admin/account/company/", include("staff.oidc.urls")),
    path("admin/account/", include("staff.login.urls")),
    path("admin/language/", set_language, name="set_language"),
    path("admin/logout/", account.logout, name="staff_logout"),
    path("admin/password_change/", RedirectView.as_view(pattern_name="account_change_password")),
    # Unfold's own search and Django's of related rows, unused.
    path("admin/search/", nothing),
    path("admin/autocomplete/", nothing),
    path("admin/", include("backoffice.urls")),
    path("admin/", admin.site.urls),
    # APPEND_SLASH is off, as the contract's paths have no slash.
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    path("", RedirectView.as_view(pattern_name="admin:index")),
]
