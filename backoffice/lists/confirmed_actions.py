"""Acts on a row of an admin, each with a page that asks first; of those that make a secret, one that shows it once."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.decorators import action
from unfold.enums import ActionVariant

from backoffice.lists.pages import ReadOnlyAdmin
from core.refusals import RefusedError
from events.webhooks.endpoints import HAS_CHANGED
from partners.models import Partner
from staff.login.reauthentication import require_fresh_factor

# The admin, the request, the row and the valid form.
Act = Callable[[Any, HttpRequest, Any, Any], Any]


@dataclass(frozen=True, kw_only=True)
class ConfirmedAction:
    """Decorates the method of an admin that acts on a row once the person has confirmed it; `actions_detail` names it.

    The method takes the request, the row and the valid form, and runs in a transaction. It returns what was done, for
    people, or the response that follows; its RefusedError or ValidationError is shown with the form.

    description: of the link. permission: needed as well as the one to view the row. title, button: the description if
    empty. note: what will happen. needs_fresh_factor: whether a POST needs a second factor that is fresh.
    """

    description: Any
    permission: str
    title: Any = ""
    button: Any = ""
    note: Any = ""
    form_class: type[forms.Form] = forms.Form
    icon: str | None = None
    variant: ActionVariant = ActionVariant.DEFAULT
    is_dangerous: bool = False
    needs_fresh_factor: bool = False

    def __call__(self, act: Act) -> Any:
        """Unfold's action."""

        @wraps(act)
        def respond(page: ReadOnlyAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
            row = page.get_object_or_404(request, object_id)
            if not page.may_act(request, row):
                raise PermissionDenied
            return self.respond(page, request, row, act)

        permissions = ["view", self.permission]
        return action(description=self.description, permissions=permissions, icon=self.icon, variant=self.variant)(
            respond
        )

    def respond(self, page: ReadOnlyAdmin, request: HttpRequest, row: Any, act: Act) -> HttpResponse:
        """Act where the form is sent and valid; otherwise, and where that is refused, the page with the form."""
        if self.needs_fresh_factor and (verification := verify_second_factor(request)) is not None:
            return verification
        form = self.get_form(request, row)
        # Before the transaction: a form may look up a host name.
        if form.is_valid():
            try:
                with transaction.atomic():
                    self.check(request, row)
                    done = act(page, request, row, form)
            except RefusedError as error:
                form.add_error(None, str(error))
            except ValidationError as error:
                form.add_error(None, error)
            except ObjectDoesNotExist:
                raise Http404 from None
            else:
                if isinstance(done, HttpResponse):
                    return done
                messages.success(request, done)
                return page.redirect_to(row)
        return page.action_form_page(
            request,
            row,
            form,
            title=self.title or self.description,
            button=self.button or self.description,
            note=self.note,
            is_dangerous=self.is_dangerous,
            version=self.version_of(row),
        )

    def get_form(self, request: HttpRequest, row: Any) -> forms.Form:
        """The form, with what was sent."""
        return self.form_class(request.POST if request.method == "POST" else None)

    def version_of(self, row: Any) -> str:
        """What the page sends back as `version`."""
        return ""

    def check(self, request: HttpRequest, row: Any) -> None:
        """Raise RefusedError where nothing may be done any more. In the transaction."""


@dataclass(frozen=True, kw_only=True)
class IssuingAction(ConfirmedAction):
    """Makes a secret, once however often the form is sent, and shows it. Its row is a partner, or a row of one.

    secrets: those of the row's partner, of which the newest is the form's version.
    """

    secrets: Callable[[Any], QuerySet[Any]]
    needs_fresh_factor: bool = True

    def version_of(self, row: Any) -> str:
        return str(self.secrets(row).order_by("-pk").values_list("pk", flat=True).first() or "")

    def check(self, request: HttpRequest, row: Any) -> None:
        # One of two forms that are sent at once is refused.
        Partner.objects.select_for_update(no_key=True).get(pk=row.pk if isinstance(row, Partner) else row.partner_id)
        if request.POST.get("version", "") != self.version_of(row):
            raise RefusedError(HAS_CHANGED)


def verify_second_factor(request: HttpRequest) -> HttpResponse | None:
    """A redirect to the verification, for a POST by staff whose second factor is not fresh."""
    if request.method != "POST":
        return None
    return require_fresh_factor(request)


def show_once(page: ReadOnlyAdmin, request: HttpRequest, row: Model, **context: Any) -> HttpResponse:
    """The page with a new secret: the response to the POST itself, which no cache keeps (admin_view sends no-store)."""
    opts = row._meta  # noqa: SLF001
    template = f"admin/{opts.app_label}/{opts.model_name}/issued.html"
    return TemplateResponse(request, template, page.admin_site.each_context(request) | {"opts": opts} | context)
