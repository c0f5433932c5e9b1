"""The audit log: who did what to what, in one list, and as CSV; its lines in words."""

import heapq
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import SEARCH_VAR
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.db.models.lookups import Exact
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from backoffice.exports import downloads, words
from backoffice.exports.records import Record, in_batches
from backoffice.lists.cells import brief, column, icon_and_text, labelled, moment, short_id, user_link
from backoffice.lists.filters import ChoiceFilter, SinceFilter, UntilFilter, ValueFilter
from backoffice.lists.pages import ReadOnlyAdmin, address_of
from backoffice.users.filters import users_found, warn_of_cut
from core import audit
from core.models import EXTERNAL_ID, ActorKind, AuditEntry
from events.models import WebhookEndpoint
from partners.models import ApiKey, Partner
from staff.login.factors import require_fresh_factor
from staff.models import Staff
from transactions.models import Document
from users.decisions.reasons import is_text_of
from users.models import Status, User
from users.models.columns import camel_case

# The lines of each kind that a search finds.
MAX_FOUND = 1_000
# How it was done comes after what was done.
_LAST = ("key", "command", "operator", "source", "requestId")
_ENTRY = {"id": "id", "kind": "actor_kind"} | {name: name for name in ("at", "actor", "action", "object", "detail")}
_ICONS = {ActorKind.STAFF: "person", ActorKind.OPERATOR: "terminal", ActorKind.PARTNER: "handshake", "": "settings"}
# What the entry of an export says of what may name a user: it outlives the user's records.
_OF_USERS = {SEARCH_VAR: "search", "object": "object", "externalId": "externalId"}
_BY_ITSELF = _("The service, or somebody unknown")
_HEADINGS = ("at", "kind", "actor", "action", "object", "detail")


class _OfOneIndex:
    """An index begins with each of `names`; beside one of those before it, a filter has none."""

    parameter_name: Any
    names = ("actor", "object", "externalId", "action")

    def __init__(self, request: HttpRequest, *args: Any) -> None:
        before = self.names[: self.names.index(self.parameter_name)]
        self.is_indexed = not any(request.GET.get(name, "").strip() for name in before)
        super().__init__(request, *args)  # type: ignore[call-arg]


class ActorFilter(_OfOneIndex, ValueFilter):
    """By who acted."""

    title, parameter_name = _("who: a username, an operator or a partner's slug"), "actor"


class ObjectFilter(_OfOneIndex, ValueFilter):
    """By whom or what it was done to."""

    title, parameter_name = _("whom: a username, slug, key's prefix or id"), "object"


class ExternalIdFilter(_OfOneIndex, ValueFilter):
    """By the user whom it concerns, as partners name it."""

    title, parameter_name = _("user: the external ID"), "externalId"

    def matching(self, request: HttpRequest, value: str) -> Q:
        return of_external_id(value)


class ActionFilter(_OfOneIndex, ChoiceFilter):
    """By what was done."""

    title, parameter_name = _("what"), "action"

    def conditions(self, request: HttpRequest) -> dict[str, tuple[str, Q]]:
        labels = sorted((str(label), code) for code, label in audit.ACTIONS.items())
        return {code: (label, Q(action=code)) for label, code in labels}


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """Every act: by staff, by commands, and by partners without staff."""

    list_display = ("when", "who", "what", "whom", "in_brief")
    list_filter = (ActorFilter, ActionFilter, ObjectFilter, ExternalIdFilter, SinceFilter, UntilFilter)
    search_fields = ("object",)
    search_help_text = _("User (name, email, IDs), username, slug, key's prefix or ID")
    ordering = ("-at", "-id")
    fields = ("when", "who", "what", "whom", "in_detail")
    change_list_template = "admin/core/auditentry/change_list.html"
    order_note = _("newest first")
    empty_text = _("What staff, operators and partners do will be listed here.")

    def get_urls(self) -> list[Any]:
        """Django's, and that of the export."""
        export = path("export/", self.admin_site.admin_view(self.export), name="core_auditentry_export")
        return [export, *super().get_urls()]

    def export(self, request: HttpRequest) -> HttpResponseBase:
        """Send the list, with the search and the filters of the form, as CSV.

        The export is in the log before its first byte, without what may name a user.
        """
        if not self.has_view_permission(request):
            raise PermissionDenied
        if request.method != "POST":
            return redirect("admin:core_auditentry_changelist")
        names = [SEARCH_VAR, *(one.parameter_name for one in self.list_filter)]
        given = {name: value for name in names if (value := request.POST.get(name, "").strip())}
        back = reverse("admin:core_auditentry_changelist", query=given)
        # The list says why it does not hold.
        if any("\0" in value for value in given.values()):
            return redirect(back)
        if (redirection := require_fresh_factor(request, download_back=back)) is not None:
            return redirection
        request.GET = QueryDict(urlencode(given))
        try:
            entries = self.get_changelist_instance(request).get_queryset(request)
        except IncorrectLookupParameters:
            return redirect(back)
        filters = ", ".join(_OF_USERS.get(name, f"{name} {value}") for name, value in given.items())
        audit.record(AuditEntry.EXPORTED, detail={"filters": filters or None})
        return downloads.send_csv(request, "audit-log", _HEADINGS, map(itemgetter(*_HEADINGS), newest_first(entries)))

    def matching(self, request: HttpRequest, term: str) -> Q:
        """The newest lines of an actor, an object or a user, at most MAX_FOUND of each kind: a range of an index."""
        users = users_found(request, term) if request.user.has_perm("users.view_user") else []
        about_users = Q(object__in=[str(pk) for pk in users])
        newest = AuditEntry.objects.order_by("-at", "-id").values_list("pk", flat=True)
        kinds = (Q(actor=term), Q(object=term), of_external_id(term), about_users)
        found = [newest.filter(kind)[: MAX_FOUND + 1] for kind in kinds]
        if any(len(ids) > MAX_FOUND for ids in found):
            warn_of_cut(request, MAX_FOUND)
        return Q(pk__in=[pk for ids in found for pk in ids[:MAX_FOUND]])

    def prepare_rows(self, request: HttpRequest, rows: list[Any]) -> None:
        """Attach what each is about, in a bounded number of statements."""
        objects = objects_of(request, rows)
        for entry in rows:
            entry.about = objects.get(entry.object, About("–"))

    def render_change_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Django's page, with what the line is about."""
        self.prepare_rows(request, [kwargs["obj"]])
        return super().render_change_form(request, *args, **kwargs)

    when = column(_("when"), lambda entry: moment(entry.at, seconds=True), ordering="at")
    what = column(_("what"), lambda entry: audit.ACTIONS.get(entry.action, entry.action))
    whom = column(_("whom"), lambda entry: entry.about.cell)
    in_brief = column(_("detail"), lambda entry: brief(brief_detail(entry, is_user_shown=entry.about.is_user)))

    @admin.display(description=_("who"))
    def who(self, entry: AuditEntry) -> str:
        kind = entry.get_actor_kind_display() or _BY_ITSELF
        icon = icon_and_text(_ICONS[entry.actor_kind], entry.actor or "–")
        return format_html('<span class="bo-actor" title="{}">{}</span>', kind, icon)

    @admin.display(description=_("detail"))
    def in_detail(self, entry: AuditEntry) -> str:
        return format_html_join("", "{}<br>", ((line,) for line in detail_lines(entry.detail))) or "–"


# What lines are about, by name and with a link, for a page of them at once


class About(NamedTuple):
    """A cell. is_user: whether it names a user with the external ID and the partner."""

    cell: str
    is_user: bool = False


def objects_of(request: HttpRequest, entries: Collection[AuditEntry]) -> Mapping[str, About]:
    """The cells of the objects of these lines, by object, in at most six statements; users for who may see them."""
    objects = {entry.object for entry in entries if entry.object}
    ids = {text: pk for text in objects if (pk := _uuid(text))}
    cells = {text: About(short_id(text) if text in ids else _move(text)) for text in objects}
    for named, column_name in ((Staff, "username"), (Partner, "slug"), (ApiKey, "prefix")):
        for text, row in named.objects.in_bulk(objects, field_name=column_name).items():
            cells[text] = About(format_html('<a class="bo-link" href="{}">{}</a>', address_of(row), text))
    for with_id, column_name in ((WebhookEndpoint, "id"), (Document, "document_id")):
        for pk, found in with_id.objects.in_bulk(ids.values(), field_name=column_name).items():
            cells[str(pk)] = About(short_id(pk, url=address_of(found)))
    if request.user.has_perm("users.view_user"):
        for pk, user in User.objects.select_related("partner").in_bulk(ids.values()).items():
            cells[str(pk)] = About(user_link(user), is_user=True)
    return cells


def _move(text: str) -> str:
    """A move that an approval rule is about, in words; any other text as it is."""
    statuses = text.split(" → ")
    return " → ".join(str(Status(one).label) for one in statuses) if set(statuses) <= set(Status) else text


def _uuid(text: str) -> UUID | None:
    with suppress(ValueError):
        return UUID(text)
    return None


# Lines in words, and in batches


def detail_lines(detail: Mapping[str, Any]) -> list[str]:
    """What changed, and the circumstances, in words: "Rate limit: 600/minute → 60/minute", "Reason: …"."""
    shown = dict(detail)
    changes = shown.pop("changes", None) or {}
    # The text of the code, in English: the code says it in the reader's language.
    if is_text_of(shown.get("reasonCode", ""), shown.get("reason", "")):
        del shown["reason"]
    lines = [_change(name, *values) for name, values in sorted(changes.items())]
    return lines + [
        labelled(words.heading(name), words.text(shown[name], name)) for name in sorted(shown, key=_LAST.__contains__)
    ]


def _change(name: str, *values: Any) -> str:
    column = audit.COLUMNS.get(name)
    choices = dict(column.flatchoices) if column else {}
    label = capfirst(column.verbose_name) if column else words.heading(camel_case(name))
    before, after = (words.text(choices.get(str(value), value), camel_case(name)) for value in values)
    return labelled(label, after if values[0] in (None, "") else f"{before} → {after}")


def brief_detail(entry: AuditEntry, *, is_user_shown: bool) -> str:
    """The detail in one line, without request ids, the actor again, and a user that is shown beside it."""
    hidden = {"requestId", "source"} | ({"partner", "externalId"} if is_user_shown else set())
    if entry.detail.get("operator") == entry.actor:
        hidden.add("operator")
    return "; ".join(detail_lines({name: value for name, value in entry.detail.items() if name not in hidden}))


def of_external_id(external_id: str) -> Q:
    """The lines that concern a user of this externalId, of whatever partner."""
    return Q(Exact(EXTERNAL_ID, external_id))


def newest_first(*entries: QuerySet[AuditEntry]) -> Iterator[Record]:
    """All lines of these lists, which have none in common, as records with the detail in words."""
    batches = (in_batches(one, _ENTRY, "-at", "-id") for one in entries)
    for record in heapq.merge(*batches, key=itemgetter("at", "id"), reverse=True):
        yield record | {"detail": "; ".join(detail_lines(record["detail"]))}
