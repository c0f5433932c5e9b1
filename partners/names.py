"""The names of models and columns, through gettext: the models have them as plain text, and no migration knows more."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Model
from django.utils.translation import gettext_lazy
from django.utils.translation import gettext_noop as _

# Those that the back office shows, for `make messages` to find. The translation is asked for below.
SHOWN = (
    *(_("partner"), _("partners"), _("slug"), _("name"), _("enabled"), _("rate limit"), _("created at")),
    *(_("API key"), _("API keys"), _("prefix"), _("label"), _("expires at"), _("revoked at"), _("last used at")),
    _("How commands, imports and GET /v1/ping name the partner."),
    _("A disabled partner is refused from its next request on."),
    _("Such as 600/minute; empty for the service's default."),
    *(_("staff member"), _("staff"), _("user"), _("users"), _("id"), _("externalId"), _("email"), _("status")),
    *(_("first name"), _("last name"), _("date of birth"), _("address line 1"), _("address line 2"), _("city")),
    *(_("postal code"), _("province"), _("country"), _("occupation"), _("CIRO affiliate"), _("status since")),
    *(_("profile changed at"), _("identity changed at"), _("updated at"), _("profile change"), _("profile history")),
    *(_("decision"), _("decisions"), _("from"), _("to"), _("by"), _("reason code"), _("reason")),
    *(_("since"), _("claim"), _("claims"), _("claimed at"), _("access record"), _("access log"), _("kind")),
    *(_("request id"), _("detail"), _("conversion"), _("conversions"), _("conversionId"), _("type"), _("rate")),
    *(_("from currency"), _("from amount"), _("to currency"), _("to amount"), _("recorded at")),
    _("When the conversion was made."),
    *(_("document"), _("documents"), _("documentId"), _("title"), _("content type"), _("size in bytes")),
    _("When the document was issued."),
)


def translate_names(models: Iterable[type[Model]]) -> None:
    """Makes the names of these models and of their columns follow the reader's language."""
    for model in models:
        options = model._meta  # noqa: SLF001 - Django's public name for it
        options.verbose_name = gettext_lazy(str(options.verbose_name_raw))
        # Where a model gives none, Django derives the plural from the singular, lazily and in English.
        options.verbose_name_plural = gettext_lazy(str(options.verbose_name_plural))
        for field in options.local_fields:
            if type(field.verbose_name) is str:
                field.verbose_name = gettext_lazy(field.verbose_name)
            if type(field.help_text) is str and field.help_text:
                field.help_text = gettext_lazy(field.help_text)


def rename(model: type[Model], name: Any, names: Any) -> None:
    """Gives a model of Django's or of a library's the name that the back office has for it. Both are lazy."""
    model._meta.verbose_name, model._meta.verbose_name_plural = name, names  # noqa: SLF001 - see above
