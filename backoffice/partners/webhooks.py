"""The admin of webhooks. A secret is shown once, where it is made; secrets and URL paths are in no message and log."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import RelatedDropdownFilter
from unfold.decorators import action
from unfold.enums import ActionVariant

from backoffice.lists.date_formatting import moment
from backoffice.lists.issuing import issue_from_form, show_once, verify_second_factor
from backoffice.lists.pages import TABLE_ROWS, ReadOnlyAdmin, Table, latest_rows
from backoffice.partners.webhook_columns import (
    delivery_state,
    event_types,
    last_success,
    latest_result,
    link,
    next_attempt,
    state,
)
from backoffice.partners.webhook_forms import RemoveForm, RotateSecretForm, WebhookForm
from partners.models import WebhookDelivery, WebhookEndpoint, WebhookSecret
from partners.webhooks import deliveries, endpoints
from partners.webhooks.addresses import naming_the_setting

MAY_CHANGE = "partners.change_webhookendpoint"
MAY_RETRY = "partners.change_webhookdelivery"
_IN_HEADER = {"edit", "send_test"}
_TIMES = ("failing_since", "disabled_at", "removed_at")


@admin.register(WebhookEndpoint)
class WebhookEndpointAdmin(ReadOnlyAdmin):
    """Webhooks of all partners, the latest first; removed ones until the purge."""

    audited_by = "pk"
    list_display = ("__str__", "partner", state, "description", event_types, last_success, "failing_since")
    list_filter = (("partner", RelatedDropdownFilter),)
    list_select_related = ("partner",)
    ordering = ("-created_at", "-id")
    fields = (  # type: ignore[assignment]
        *("url", "partner", "description", event_types, state),
        *(last_success, "failing_since", "disabled_at", "removed_at", "created_at", "id"),
    )
    actions_detail = ("edit", "send_test", "retry", "rotate", "disable", "enable", "remove")
    change_form_template = "admin/change_form_with_actions.html"
    empty_text = _("Webhooks are added on a partner's page.")

    def tables_of(self, request: HttpRequest, obj: WebhookEndpoint) -> Iterator[Table]:
        """The latest deliveries, and the secrets in force."""
        if request.user.has_perm("partners.view_webhookdelivery"):
            newest = WebhookDelivery.objects.filter(endpoint=obj).order_by("-id")[: TABLE_ROWS + 1]
            yield latest_rows(
                _("Deliveries"),
                (_("created at"), _("type"), _("state"), _("attempts"), _("latest result"), _("next attempt")),
                [
                    (
                        link(one, moment(one.created_at)),
                        one.type,
                        delivery_state(one),
                        one.attempt_count,
                        latest_result(one),
                        next_attempt(one),
                    )
                    for one in newest
                ],
                all_rows=reverse("admin:partners_webhookdelivery_changelist", query={"webhook": obj.pk}),
            )
        yield Table(
            _("Secrets in force"),
            (_("created at"), _("ends at")),
            [
                (moment(one.created_at), moment(one.expires_at) if one.expires_at else _("when it is rotated"))
                for one in endpoints.secrets_of(obj)
            ],
            note=_("Each signs every delivery."),
        )

    def get_object_or_404(self, request: HttpRequest, object_id: str) -> WebhookEndpoint:
        """The webhook of an action's address. Raises Http404, also for a removed one."""
        endpoint: WebhookEndpoint = super().get_object_or_404(request, object_id)
        if endpoint.removed_at is not None:
            raise Http404
        return endpoint

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Without the times of what has not happened."""
        absent = {name for name in _TIMES if obj is not None and getattr(obj, name) is None}
        return [
            (title, {**options, "fields": [one for one in options["fields"] if _name(one) not in absent]})
            for title, options in super().get_fieldsets(request, obj)
        ]

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """The page, with the actions for which the header has no room below the fields."""
        endpoint: WebhookEndpoint = kwargs["obj"]
        further = [one for one in self._possible_actions(request, endpoint) if _action_name(one) not in _IN_HEADER]
        context["more_actions"] = self.action_links(endpoint, further)
        return super().render_change_form(request, context, *args, **kwargs)

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> Any:
        endpoint = self.get_object(request, str(object_id))
        return [one for one in self._possible_actions(request, endpoint) if _action_name(one) in _IN_HEADER]

    def _possible_actions(self, request: HttpRequest, endpoint: WebhookEndpoint | None) -> list[Any]:
        """What the person may do in the webhook's state."""
        if endpoint is None or endpoint.removed_at is not None:
            return []
        impossible = {"enable"} if endpoint.is_active else {"disable", "retry"}
        actions: list[Any] = super().get_actions_detail(request, endpoint.pk)  # type: ignore[misc]
        return [one for one in actions if _action_name(one) not in impossible]

    @action(  # type: ignore[untyped-decorator]
        description=_("Change"), permissions=["view", MAY_CHANGE], icon="edit", variant=ActionVariant.PRIMARY
    )
    def edit(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Change URL, types and description."""
        if (second_factor := verify_second_factor(request)) is not None:
            return second_factor

        @naming_the_setting()
        def change(endpoint: WebhookEndpoint, form: forms.Form) -> Any:
            endpoints.change_endpoint(endpoint, **form.cleaned_data, seen=version)
            return _("The webhook is changed.")

        endpoint = self.get_object_or_404(request, object_id)
        initial = {name: getattr(endpoint, name) for name in WebhookForm.base_fields}
        version = endpoints.version_of(endpoint)
        if request.method == "POST" and request.POST.get("version") != version:
            messages.error(request, endpoints.HAS_CHANGED)
            return redirect(request.path)
        form = WebhookForm(request.POST if request.method == "POST" else None, initial=initial)
        texts = {"title": _("Change the webhook"), "button": _("Save"), "note": "", "version": version}
        return self._act(request, endpoint, form, change, **texts)

    @action(description=_("Send a test"), permissions=["view", MAY_CHANGE], icon="send")  # type: ignore[untyped-decorator]
    def send_test(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Have a `webhook.test` sent once; its page shows the result."""
        endpoint = self.get_object_or_404(request, object_id)
        if request.method != "POST":
            note = _("An event of the type webhook.test is sent to it once. The next page shows the result.")
            texts = {"title": _("Send a test"), "button": _("Send"), "note": note}
            return self.action_form_page(request, endpoint, forms.Form(), **texts)
        with transaction.atomic():
            delivery = deliveries.create_test(endpoint=endpoint)
        return self.redirect_to(delivery)

    @action(description=_("Retry deliveries"), permissions=["view", MAY_RETRY], icon="replay")  # type: ignore[untyped-decorator]
    def retry(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Have deliveries attempted now that failed, or wait for their next attempt."""

        def retry(endpoint: WebhookEndpoint, _form: forms.Form) -> Any:
            count = deliveries.retry(endpoint=endpoint)
            return _("Deliveries that are attempted now: %(count)d.") % {"count": count}

        note = _("Deliveries that failed, and those that wait for their next attempt, are attempted now.")
        texts = {"title": _("Retry deliveries"), "button": _("Retry"), "note": note}
        form = forms.Form(request.POST if request.method == "POST" else None)
        return self._act(request, self.get_object_or_404(request, object_id), form, retry, **texts)

    @action(description=_("Rotate the secret"), permissions=["view", MAY_CHANGE], icon="autorenew")  # type: ignore[untyped-decorator]
    def rotate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Make a new secret and show it once."""
        endpoint = self.get_object_or_404(request, object_id)

        def rotate_secret(form: RotateSecretForm) -> HttpResponse:
            hours = form.cleaned_data["overlap_hours"]
            secret = endpoints.rotate_secret(endpoint, timedelta(hours=hours))
            return show_webhook_secret(self, request, endpoint, secret)

        return issue_from_form(
            self,
            request,
            endpoint,
            RotateSecretForm,
            rotate_secret,
            secrets=secrets_of_partner(endpoint.partner_id),
            title=_("Rotate the secret"),
            button=_("Rotate"),
            note=_("The new secret is shown once, on the next page. Those in force end with the overlap."),
        )

    @action(description=_("Disable"), permissions=["view", MAY_CHANGE], icon="block")  # type: ignore[untyped-decorator]
    def disable(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Send it nothing until it is enabled."""
        return self._apply(
            request,
            object_id,
            endpoints.disable,
            done=_("The webhook is disabled."),
            title=_("Disable the webhook"),
            button=_("Disable"),
            note=_("Events of the time until it is enabled are never sent to it; the partner finds them in the feed."),
        )

    @action(description=_("Enable"), permissions=["view", MAY_CHANGE], icon="check_circle")  # type: ignore[untyped-decorator]
    def enable(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Send it events from now on."""
        return self._apply(
            request,
            object_id,
            endpoints.enable,
            done=_("The webhook is enabled."),
            title=_("Enable the webhook"),
            button=_("Enable"),
            note=_("Events are sent to it from now on. Those of the time while it was disabled are in the feed."),
        )

    @action(  # type: ignore[untyped-decorator]
        description=_("Remove"), permissions=["view", MAY_CHANGE], icon="delete", variant=ActionVariant.DANGER
    )
    def remove(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Send it nothing any more."""
        return self._apply(
            request,
            object_id,
            endpoints.remove,
            RemoveForm,
            done=_("The webhook is removed."),
            title=_("Remove the webhook"),
            button=_("Remove"),
            note=_("This cannot be undone."),
            is_dangerous=True,
        )

    def _apply(
        self,
        request: HttpRequest,
        object_id: str,
        rule: Callable[[WebhookEndpoint], object],
        form_class: type[forms.Form] = forms.Form,
        *,
        done: Any,
        **texts: Any,
    ) -> HttpResponse:
        """Ask, then apply a rule to the webhook. done: for the person."""

        def act(endpoint: WebhookEndpoint, _form: forms.Form) -> Any:
            rule(endpoint)
            return done

        form = form_class(request.POST if request.method == "POST" else None)
        return self._act(request, self.get_object_or_404(request, object_id), form, act, **texts)

    def _act(
        self,
        request: HttpRequest,
        endpoint: WebhookEndpoint,
        form: forms.Form,
        act: Callable[[WebhookEndpoint, forms.Form], Any],
        **texts: Any,
    ) -> HttpResponse:
        """Show the form; where it is sent and valid, act and show the webhook's page. act: returns a message."""
        if form.is_valid():
            try:
                with transaction.atomic():
                    message = act(endpoint, form)
            except ValidationError as error:
                form.add_error(None, error)
            except WebhookEndpoint.DoesNotExist:
                raise Http404 from None
            else:
                messages.success(request, message)
                return self.redirect_to(endpoint)
        return self.action_form_page(request, endpoint, form, **texts)


def _action_name(one: Any) -> str:
    """The method's name of an action of Unfold."""
    return str(one.action_name).removeprefix("partners_webhookendpoint_")


def _name(column: Any) -> str:
    return column if isinstance(column, str) else str(column.__name__)


def secrets_of_partner(partner_id: int) -> QuerySet[WebhookSecret]:
    """The secrets of the partner's webhooks."""
    return WebhookSecret.objects.filter(endpoint__partner=partner_id)


def show_webhook_secret(
    page: ReadOnlyAdmin, request: HttpRequest, endpoint: WebhookEndpoint, secret: str
) -> HttpResponse:
    """The page with a new secret of a webhook."""
    return show_once(page, request, endpoint, title=_("New webhook secret"), endpoint=endpoint, secret=secret)
