"""`/livez`, `/readyz` and `/metrics` (docs/operations.md). The proxy refuses them from outside."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, generate_latest

from events.metrics import feeds, webhooks
from partners.monitoring import health
from partners.monitoring.metrics import DatabaseCollector, RedisCollector, keys, purge, sessions
from users.decisions.metrics import cases, proposals

REGISTRY.register(DatabaseCollector(sessions, keys, purge, feeds, webhooks, proposals, cases))
REGISTRY.register(RedisCollector())


@require_safe
def livez(_request: HttpRequest) -> HttpResponse:
    """Whether a thread responds. Dependencies are left out: a restart would not repair them."""
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(_request: HttpRequest) -> HttpResponse:
    """Whether requests can be handled, and what prevents it."""
    result = health.readiness()
    body = {"status": "ok" if result.is_healthy else "failing", "checks": result.checks, "warnings": result.warnings}
    return JsonResponse(body, status=200 if result.is_healthy else 503)


@require_safe
def metrics(_request: HttpRequest) -> HttpResponse:
    """The metrics of this process, and those of the database, in Prometheus' text format."""
    return HttpResponse(generate_latest(REGISTRY), content_type=CONTENT_TYPE_LATEST)


urlpatterns = [path("livez", livez), path("readyz", readyz), path("metrics", metrics)]
