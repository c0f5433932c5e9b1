"""The admin of webhooks. A secret is shown once, where it is made; secrets and URL paths are in no message and log."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import RelatedDropdownFilter
from unfold.enums import ActionVariant

from backoffice.lists.bounded_lists import column_name
from backoffice.lists.cells import moment
from backoffice.lists.confirmed_actions import Act, ConfirmedAction, IssuingAction, show_once, verify_second_factor
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
from events.models import WebhookDelivery, WebhookEndpoint, WebhookSecret
from events.webhooks import deliveries, endpoints

MAY_CHANGE = "events.change_webhookendpoint"
MAY_RETRY = "events.change_webhookdelivery"
_IN_HEADER = {"edit", "send_test"}
_TIMES = ("failing_since", "disabled_at", "removed_at")


class _EditAction(ConfirmedAction):
    """Shows the present values; after a change by a colleague, those of the colleague."""

    def respond(self, page: ReadOnlyAdmin, request: HttpRequest, row: WebhookEndpoint, act: Act) -> HttpResponse:
        if (verification := verify_second_factor(request)) is not None:
            return verification
        if request.method == "POST" and request.POST.get("version") != self.version_of(row):
            messages.error(request, endpoints.HAS_CHANGED)
            return redirect(request.path)
        return super().respond(page, request, row, act)

    def get_form(self, request: HttpRequest, row: WebhookEndpoint) -> WebhookForm:
        initial = {name: getattr(row, name) for name in WebhookForm.base_fields}
        return WebhookForm(request.POST if request.method == "POST" else None, initial=initial)

    def version_of(self, row: WebhookEndpoint) -> str:
        return endpoints.version_of(row)


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
        if request.user.has_perm("events.view_webhookdelivery"):
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
                all_rows=reverse("admin:events_webhookdelivery_changelist", query={"webhook": obj.pk}),
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
            (title, {**options, "fields": [one for one in options["fields"] if column_name(one) not in absent]})
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

    @_EditAction(
        description=_("Change"),
        permission=MAY_CHANGE,
        title=_("Change the webhook"),
        button=_("Save"),
        icon="edit",
        variant=ActionVariant.PRIMARY,
    )
    def edit(self, request: HttpRequest, endpoint: WebhookEndpoint, form: WebhookForm) -> Any:
        """Change URL, types and description."""
        endpoints.change_endpoint(endpoint, **form.cleaned_data, seen=request.POST["version"])
        return _("The webhook is changed.")

    @ConfirmedAction(
        description=_("Send a test"),
        permission=MAY_CHANGE,
        button=_("Send"),
        note=_("An event of the type webhook.test is sent to it once. The next page shows the result."),
        icon="send",
    )
    def send_test(self, request: HttpRequest, endpoint: WebhookEndpoint, _form: forms.Form) -> HttpResponse:
        """Have a `webhook.test` sent once; its page shows the result."""
        return self.redirect_to(deliveries.create_test(endpoint=endpoint))

    @ConfirmedAction(
        description=_("Retry deliveries"),
        permission=MAY_RETRY,
        button=_("Retry"),
        note=_("Deliveries that failed, and those that wait for their next attempt, are attempted now."),
        icon="replay",
    )
    def retry(self, request: HttpRequest, endpoint: WebhookEndpoint, _form: forms.Form) -> Any:
        """Have deliveries attempted now that failed, or wait for their next attempt."""
        return _("Deliveries that are attempted now: %(count)d.") % {"count": deliveries.retry(endpoint=endpoint)}

    @IssuingAction(
        description=_("Rotate the secret"),
        permission=MAY_CHANGE,
        button=_("Rotate"),
        note=_("The new secret is shown once, on the next page. Those in force end with the overlap."),
        form_class=RotateSecretForm,
        icon="autorenew",
        secrets=lambda endpoint: secrets_of_partner(endpoint.partner_id),
    )
    def rotate(self, request: HttpRequest, endpoint: WebhookEndpoint, form: RotateSecretForm) -> HttpResponse:
        """Make a new secret and show it once."""
        secret = endpoints.rotate_secret(endpoint, timedelta(hours=form.cleaned_data["overlap_hours"]))
        return show_webhook_secret(self, request, endpoint, secret)

    @ConfirmedAction(
        description=_("Disable"),
        permission=MAY_CHANGE,
        title=_("Disable the webhook"),
        note=_("Events of the time until it is enabled are never sent to it; the partner finds them in the feed."),
        icon="block",
    )
    def disable(self, request: HttpRequest, endpoint: WebhookEndpoint, _form: forms.Form) -> Any:
        """Send it nothing until it is enabled."""
        endpoints.disable(endpoint)
        return _("The webhook is disabled.")

    @ConfirmedAction(
        description=_("Enable"),
        permission=MAY_CHANGE,
        title=_("Enable the webhook"),
        note=_("Events are sent to it from now on. Those of the time while it was disabled are in the feed."),
        icon="check_circle",
    )
    def enable(self, request: HttpRequest, endpoint: WebhookEndpoint, _form: forms.Form) -> Any:
        """Send it events from now on."""
        endpoints.enable(endpoint)
        return _("The webhook is enabled.")

    @ConfirmedAction(
        description=_("Remove"),
        permission=MAY_CHANGE,
        title=_("Remove the webhook"),
        note=_("This cannot be undone."),
        form_class=RemoveForm,
        icon="delete",
        variant=ActionVariant.DANGER,
        is_dangerous=True,
    )
    def remove(self, request: HttpRequest, endpoint: WebhookEndpoint, _form: RemoveForm) -> Any:
        """Send it nothing any more."""
        endpoints.remove(endpoint)
        return _("The webhook is removed.")


def _action_name(one: Any) -> str:
    """The method's name of an action of Unfold."""
    return str(one.action_name).removeprefix("events_webhookendpoint_")


def secrets_of_partner(partner_id: int) -> QuerySet[WebhookSecret]:
    """The secrets of the partner's webhooks."""
    return WebhookSecret.objects.filter(endpoint__partner=partner_id)


def show_webhook_secret(
    page: ReadOnlyAdmin, request: HttpRequest, endpoint: WebhookEndpoint, secret: str
) -> HttpResponse:
    """The page with a new secret of a webhook."""
    return show_once(page, request, endpoint, title=_("New webhook secret"), endpoint=endpoint, secret=secret)
