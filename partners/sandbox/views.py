"""The base of the views under /v1/sandbox: contract, section 11."""

from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from django.http.response import HttpResponseBase
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from partners.api.base import PartnerAPIView
from partners.api.errors import MethodNotAllowedError, NotFoundError
from partners.api.request import PartnerRequest
from partners.models import Mode


class IsSandbox(BasePermission):
    """Whether the caller is a sandbox partner."""

    def has_permission(self, request: PartnerRequest, view: object) -> bool:  # type: ignore[override]
        """By the API key's partner."""
        return request.user.mode == Mode.SANDBOX


class SandboxView(PartnerAPIView):
    """A view that does not exist for live partners, whatever the method: they get 404."""

    permission_classes = (IsSandbox,)
    # A repeated POST would simulate once more.
    refuse_signature_reuse = True

    def get_handler(self) -> Callable[..., HttpResponseBase]:
        """The view's method, by name. A wrong one is refused later: only sandbox partners may learn of it."""
        with suppress(MethodNotAllowedError):
            return super().get_handler()
        return self.http_method_not_allowed

    def check_permissions(self, request: Request) -> None:
        """Raises NotFoundError for live partners, MethodNotAllowedError for others."""
        super().check_permissions(request)
        super().get_handler()

    def permission_denied(self, request: object, message: object = None, code: object = None) -> NoReturn:
        """Raises NotFoundError."""
        raise NotFoundError("Path not found.")
