"""The URLs of the API, health and metrics, the docs and the back office."""

from collections.abc import Callable
from typing import Any

from allauth.account import views as account
from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.urls import include, path, re_path
from django.views.decorators.http import require_safe
from django.views.defaults import page_not_found
from django.views.generic import RedirectView
from django.views.i18n import set_language
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, generate_latest

from events.feed.views import EventList
from events.monitoring import feeds, webhooks
from partners.api.base import IdempotencyKeyItem, PartnerAPIView, Ping, UnknownPath
from partners.monitoring import health
from partners.monitoring.metrics import InstallationCollector, gauges
from sandbox import self_service, simulated
from sandbox.views import SandboxMixin
from transactions.api import DocumentFile, DocumentList, TransactionList
from users.api.views import RequirementResponses, UserCollection, UserItem, VerificationCollection
from users.decisions.metrics import cases, proposals

REGISTRY.register(InstallationCollector(gauges, feeds, webhooks, proposals, cases))
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]

handler500 = "backoffice.middleware.server_error"


def api_view(view: type[PartnerAPIView]) -> Callable[..., HttpResponseBase]:
    """The view of a path under /v1, and for ApiMiddleware the same one within what the sandbox does around it."""
    live: Any = view.as_view()
    live.in_sandbox = type(view.__name__, (SandboxMixin, view), {}).as_view()  # type: ignore[attr-defined]
    return live  # type: ignore[no-any-return]


@require_safe
def livez(_request: HttpRequest) -> HttpResponse:
    """Whether a thread responds. Dependencies are left out: a restart would not repair them."""
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(_request: HttpRequest) -> HttpResponse:
    """Whether requests can be handled, and what prevents it."""
    checks, warnings = health.readiness()
    is_ready = set(checks.values()) <= {health.OK}
    body = {"status": "ok" if is_ready else "failing", "checks": checks, "warnings": warnings}
    return JsonResponse(body, status=200 if is_ready else 503)


@require_safe
def metrics(_request: HttpRequest) -> HttpResponse:
    """The metrics of this process, and those of the database, in Prometheus' text format."""
    return HttpResponse(generate_latest(REGISTRY), content_type=CONTENT_TYPE_LATEST)


# A flat list of views, as partners/api/middleware.py needs.
api_urlpatterns = [
    path("v1/users/<str:external_id>/transactions", api_view(TransactionList)),
    path("v1/users/<str:external_id>/documents", api_view(DocumentList)),
    path("v1/users/<str:external_id>/documents/<str:document_id>", api_view(DocumentFile)),
    path("v1/sandbox/users/<str:external_id>/transactions", api_view(simulated.SimulatedTransactions)),
    path("v1/sandbox/users/<str:external_id>/documents", api_view(simulated.SimulatedDocuments)),
    path("v1/users/<str:external_id>/requirements/<str:requirement_id>/response", api_view(RequirementResponses)),
    path("v1/users/<str:external_id>/verifications", api_view(VerificationCollection)),
    path("v1/sandbox/users/<str:external_id>/requirements", api_view(simulated.SimulatedRequirements)),
    path(
        "v1/sandbox/users/<str:external_id>/requirements/<str:requirement_id>/close",
        api_view(simulated.SimulatedClosing),
    ),
    path("v1/users", api_view(UserCollection)),
    path("v1/users/<str:external_id>", api_view(UserItem)),
    path("v1/sandbox/users/<str:external_id>/status", api_view(simulated.SimulatedStatus)),
    path("v1/sandbox/webhooks", api_view(self_service.WebhookCollection)),
    path("v1/sandbox/webhooks/<str:webhook_id>", api_view(self_service.WebhookItem)),
    path("v1/sandbox/webhooks/<str:webhook_id>/test", api_view(self_service.WebhookTest)),
    path("v1/sandbox/webhooks/<str:webhook_id>/rotate-secret", api_view(self_service.WebhookSecretRotation)),
    path("v1/sandbox/api-keys", api_view(self_service.ApiKeyCollection)),
    path("v1/sandbox/api-keys/rotate", api_view(self_service.ApiKeyRotation)),
    path("v1/sandbox/api-keys/<str:api_key_prefix>", api_view(self_service.ApiKeyItem)),
    path("v1/sandbox/requests", api_view(self_service.SandboxRequestList)),
    path("v1/sandbox/requests/<str:request_id>", api_view(self_service.SandboxRequestItem)),
    path("v1/ping", api_view(Ping)),
    path("v1/idempotency-keys/<str:idempotency_key>", api_view(IdempotencyKeyItem)),
    path("v1/events", api_view(EventList)),
    # Django's own 404 page is HTML. A prefix, because `.` does not match a line feed.
    re_path(r"^v1(?:/|\Z)", api_view(UnknownPath)),
]
urlpatterns = [
    *api_urlpatterns,
    # Not from outside: the proxy refuses them (docs/operations.md).
    path("livez", livez),
    path("readyz", readyz),
    path("metrics", metrics),
    path("", include("docs_site.urls")),
    # These replace the admin's own pages, which have no second factor.
    path("admin/account/", include("staff.urls")),
    path("admin/language/", set_language, name="set_language"),
    path("admin/logout/", account.logout, name="staff_logout"),
    path("admin/password_change/", RedirectView.as_view(pattern_name="account_change_password")),
    # Unfold's own search and Django's of related rows, unused.
    path("admin/search/", page_not_found, {"exception": Http404()}),
    path("admin/autocomplete/", page_not_found, {"exception": Http404()}),
    path("admin/", include("backoffice.urls")),
    path("admin/", admin.site.urls),
    # APPEND_SLASH is off, as the contract's paths have no slash.
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    path("", RedirectView.as_view(pattern_name="admin:index")),
]
