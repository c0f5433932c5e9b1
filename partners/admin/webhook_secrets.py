"""The pages that make a webhook's secret and show it once."""

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _

from partners.admin.issuing import issue_from_form
from partners.admin.pages import ReadOnlyAdmin
from partners.admin.webhook_forms import AddWebhookForm
from partners.models import Partner, WebhookEndpoint, WebhookSecret
from partners.webhooks import endpoints

MAY_ADD = "partners.add_webhookendpoint"


def add_from_form(page: ReadOnlyAdmin, request: HttpRequest, partner: Partner) -> HttpResponse:
    """The form that adds a webhook to a partner, then its secret, once."""

    def add(form: AddWebhookForm) -> HttpResponse:
        endpoint, secret = endpoints.create_endpoint(partner=partner, **form.cleaned_data)
        page.log_addition(request, endpoint, f"Added to {partner.slug}.")
        return show_once(page, request, endpoint, secret)

    return issue_from_form(
        page,
        request,
        partner,
        AddWebhookForm,
        add,
        partner_id=partner.pk,
        newest=newest_secret,
        title=_("Add a webhook"),
        button=_("Add"),
        note=_("Events are sent to it from now on. Its secret is shown once, on the next page."),
    )


def newest_secret(partner_id: int) -> str:
    """The version of the forms that make secrets: a form that is sent twice makes one."""
    newest = WebhookSecret.objects.filter(endpoint__partner=partner_id).order_by("-pk").values_list("pk", flat=True)
    return str(newest.first() or "")


def show_once(page: ReadOnlyAdmin, request: HttpRequest, endpoint: WebhookEndpoint, secret: str) -> HttpResponse:
    """The page with a new secret."""
    # The response to the POST itself, which no cache keeps (admin_view sends no-store): nothing else holds the secret.
    context = {"title": _("New webhook secret"), "opts": endpoint._meta, "endpoint": endpoint, "secret": secret}  # noqa: SLF001
    return TemplateResponse(
        request, "admin/partners/webhookendpoint/issued.html", page.admin_site.each_context(request) | context
    )
