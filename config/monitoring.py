"""`/livez`, `/readyz` and `/metrics` (docs/operations.md). The proxy refuses them from outside."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.urls import path, resolve
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, generate_latest

from core.request_context import request_context
from events.gauges import feeds, webhooks
from partners.monitoring import health
from partners.monitoring.gauges import DatabaseCollector, RedisCollector, keys, purge, sessions
from users.decisions.metrics import cases, proposals

REGISTRY.register(DatabaseCollector(sessions, keys, purge, feeds, webhooks, proposals, cases))
REGISTRY.register(RedisCollector())


class MonitoringMiddleware:
    """Responds before the other middlewares: without a log line, checks of the host name, redirects and sessions."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Handle a request for one of these paths; pass on all others."""
        if request.path_info not in _PATHS:
            return self.get_response(request)
        request_context.begin(None)
        response: HttpResponse = resolve(request.path_info).func(request)
        response.headers["Cache-Control"] = "no-store"
        return response


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
_PATHS = {f"/{pattern.pattern}" for pattern in urlpatterns}
