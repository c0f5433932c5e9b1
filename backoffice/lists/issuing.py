"""Pages that make a secret and show it once: they verify a second factor, and make one however often they are sent."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.module_loading import import_string

from backoffice.lists.pages import ReadOnlyAdmin
from partners.models import Partner
from partners.refusals import RefusedError
from partners.webhooks.endpoints import HAS_CHANGED


def verify_second_factor(request: HttpRequest) -> HttpResponse | None:
    """A redirect to the verification, for a POST by staff whose second factor is not fresh."""
    if request.method != "POST":
        return None
    response: HttpResponse | None = import_string(settings.REQUIRE_REAUTHENTICATION)(request)
    return response


def issue_from_form(
    page: ReadOnlyAdmin,
    request: HttpRequest,
    row: Any,
    form_class: type[forms.Form],
    issue: Callable[[Any], HttpResponse],
    *,
    secrets: QuerySet[Any],
    **texts: Any,
) -> HttpResponse:
    """Show a form; on POST call `issue` with it, which makes a secret and returns the page that shows it.

    row: a partner, or a row of one. issue: may raise RefusedError and ValidationError; ObjectDoesNotExist becomes
    Http404. secrets: those of the partner: the newest is the form's version, so that one sent twice is refused.
    texts: title, button and note of the page.
    """
    if (second_factor := verify_second_factor(request)) is not None:
        return second_factor
    form = form_class(request.POST if request.method == "POST" else None)
    # Not while the partner is locked: a form may look up a host name.
    is_valid = form.is_valid()
    with transaction.atomic():
        # One of two forms that are sent at once is refused.
        Partner.objects.select_for_update(no_key=True).get(pk=row.pk if isinstance(row, Partner) else row.partner_id)
        version = str(secrets.order_by("-pk").values_list("pk", flat=True).first() or "")
        if is_valid:
            if request.POST.get("version", "") != version:
                form.add_error(None, HAS_CHANGED)
            else:
                try:
                    return issue(form)
                except ValidationError as error:
                    form.add_error(None, error)
                except RefusedError as error:
                    form.add_error(None, str(error))
                except ObjectDoesNotExist:
                    raise Http404 from None
    return page.action_form_page(request, row, form, version=version, **texts)


def show_once(page: ReadOnlyAdmin, request: HttpRequest, row: Model, **context: Any) -> HttpResponse:
    """The page with a new secret: the response to the POST itself, which no cache keeps (admin_view sends no-store)."""
    opts = row._meta  # noqa: SLF001
    template = f"admin/partners/{opts.model_name}/issued.html"
    return TemplateResponse(request, template, page.admin_site.each_context(request) | {"opts": opts} | context)
