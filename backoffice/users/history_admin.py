"""The admin of what happened to users: decisions, the profile history, the access log."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, Q, Subquery
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter, RelatedDropdownFilter

from backoffice.access import record_access
from backoffice.lists import cells
from backoffice.lists.cells import badge, brief, case_link, moment, user_link
from backoffice.lists.filters import SinceFilter, UntilFilter
from backoffice.lists.pages import ReadOnlyAdmin
from backoffice.users.filters import (
    FlagFilter,
    ModeFilter,
    OpenedFilter,
    ReasonFilter,
    ReviewerFilter,
    mode_of,
    users_found,
)
from staff.models import Staff
from users.decisions.changes import FieldChange, differences
from users.decisions.reasons import label_of, move_of, note_of, people_of
from users.models import AccessKind, AccessRecord, Page, Proposal, Status, StatusChange, UserEvent
from users.models.columns import IDENTITY_PERMISSION, PROFILE_COLUMNS
from users.search import find_exactly

# With a link to the export by period.
_WITH_EXPORT = "admin/users/history_list.html"
SEARCH_HELP = _("Name, email or its domain, external ID, user ID or birth date")


_STATUS_KINDS = {Status.ACTIVE: "good", Status.REJECTED: "bad", Status.SUSPENDED: "warning", Status.CLOSED: "bad"}


def reason_and_note(decision: StatusChange | Proposal) -> str:
    """The reason in words, and the first lines of the note below it."""
    label, note = label_of(decision.reason_code), note_of(decision)
    if not (label and note):
        return brief(label or note)
    return format_html('{} <span class="bo-quiet bo-below-name">{}</span>', label, brief(note))


@admin.register(StatusChange)
class StatusChangeAdmin(ReadOnlyAdmin):
    """Every decision."""

    list_display = ("when", "of_user", "decision", "people", "reason_and_note")
    list_filter = (
        SinceFilter,
        UntilFilter,
        ("to_status", ChoicesDropdownFilter),
        ("partner", RelatedDropdownFilter),
        ("by", ReviewerFilter),
        ReasonFilter,
        FlagFilter,
        OpenedFilter,
        ModeFilter,
    )
    list_select_related = ("by", "proposal__by", "user__partner")
    search_fields = ("user",)
    search_help_text = SEARCH_HELP
    change_list_template = _WITH_EXPORT
    # The order is of time: an id is drawn before the row's trigger has locked the user and sets the time.
    ordering = ("-created_at", "-id")
    order_note = _("newest first")
    fields = ("when", "of_user", "partner_of_user", "from_status", "to_status", "people", "reason_label", "whole_note")

    def matching(self, request: HttpRequest, term: str) -> Q:
        return Q(user__in=users_found(request, term))

    def index_orders(self, request: HttpRequest) -> Mapping[str, tuple[str, ...]]:
        return {"when": ("created_at", "id")}

    @admin.display(description=_("when"), ordering="created_at")
    def when(self, change: StatusChange) -> str:
        return moment(change.created_at)

    @admin.display(description=_("user"))
    def of_user(self, change: StatusChange) -> str:
        return user_link(change.user)

    @admin.display(description=_("partner"))
    def partner_of_user(self, change: StatusChange) -> str:
        """The user's partner; the decision's own column is for the filter, and may be empty."""
        return change.user.partner.name

    @admin.display(description=_("decision"))
    def decision(self, change: StatusChange) -> str:
        return badge(move_of(change), _STATUS_KINDS.get(Status(change.to_status), "off"))

    @admin.display(description=_("by"))
    def people(self, change: StatusChange) -> str:
        """Who decided; of two people the one who approved, then the one who proposed."""
        second, *rest = people_of(change)
        return format_html('{} <span class="bo-quiet bo-below-name">{}</span>', second, "; ".join(rest))

    @admin.display(description=_("reason"))
    def reason_label(self, change: StatusChange) -> str:
        return label_of(change.reason_code) or "–"

    @admin.display(description=_("reason and note"))
    def reason_and_note(self, change: StatusChange) -> str:
        return reason_and_note(change)

    @admin.display(description=_("note"))
    def whole_note(self, change: StatusChange) -> str:
        return note_of(change) or "–"


def with_previous(events: Sequence[Any]) -> list[tuple[Any, Any | None]]:
    """Each event with the one before it of the same user; None for the user's first. In two statements."""
    earlier = UserEvent.objects.filter(pgh_obj=OuterRef("pgh_obj"), pgh_id__lt=OuterRef("pgh_id")).order_by("-pgh_id")
    found = UserEvent.objects.filter(pk__in=[event.pk for event in events])
    previous = dict(found.values_list("pk", Subquery(earlier.values("pk")[:1])))
    rows = UserEvent.objects.in_bulk([pk for pk in previous.values() if pk is not None])
    return [(event, rows.get(previous.get(event.pk))) for event in events]


def display_changes(event: Any, previous: Any | None, *, sees_identity: bool) -> str:
    """What an event changed, such as *Last name: Okafor → Okafor-Gagnon*, of the fields that the reader may see."""
    if previous is None:
        return gettext("Submitted")
    texts = [
        gettext("%(field)s: %(old)s → %(new)s") % {"field": change.label, "old": change.old, "new": change.new}
        for change in _changes(event, previous, sees_identity=sees_identity)
    ]
    if not texts and previous.profile_changed_at != event.profile_changed_at:
        return gettext("Profile changed")
    return "; ".join(texts)


def _changes(event: Any, previous: Any, *, sees_identity: bool) -> Iterator[FieldChange]:
    if event.status != previous.status:
        yield FieldChange("status", previous.status, event.status)
    yield from differences(previous, event, sees_identity=sees_identity)


@admin.register(UserEvent)
class UserEventAdmin(ReadOnlyAdmin):
    """Every change of a user's row, with the row after it."""

    list_display = ("when", "of_user", "change", "made_by", "origin")
    list_filter = (ModeFilter,)
    list_select_related = ("partner",)
    search_fields = ("pgh_obj",)
    search_help_text = SEARCH_HELP
    ordering = ("-pgh_id",)
    order_note = _("newest first")
    fieldsets = (
        (None, {"fields": ("when", "whole_change", "made_by", "origin")}),
        (
            _("The user after it"),
            {"fields": ("user", "external_id", "partner", "status", "created_at", "updated_at")},
        ),
        (_("Profile"), {"fields": PROFILE_COLUMNS}),
    )

    def index_orders(self, request: HttpRequest) -> Mapping[str, tuple[str, ...]]:
        return {"when": ("pgh_id",)}

    def prepare_rows(self, request: HttpRequest, rows: list[Any]) -> None:
        """Attach what each changed, in two statements."""
        sees_identity = request.user.has_perm(IDENTITY_PERMISSION)
        texts = {
            event.pk: display_changes(event, previous, sees_identity=sees_identity)
            for event, previous in with_previous(rows)
        }
        for event in rows:
            event.changes = texts[event.pk]

    def matching(self, request: HttpRequest, term: str) -> Q:
        return Q(pgh_obj__in=users_found(request, term))

    def render_change_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Django's page; opening it is recorded in the access log."""
        self.prepare_rows(request, [kwargs["obj"]])
        record_access(request, AccessKind.OPENED, user=kwargs["obj"].pgh_obj, detail=Page.HISTORY)
        return super().render_change_form(request, *args, **kwargs)

    @admin.display(description=_("when"), ordering="pgh_id")
    def when(self, event: Any) -> str:
        return moment(event.pgh_created_at)

    @admin.display(description=_("user"))
    def of_user(self, event: Any) -> str:
        """The user by the name that the change left them."""
        return case_link(event.pgh_obj_id, event.full_name, event.external_id, event.partner.name)

    @admin.display(description=_("change"))
    def change(self, event: Any) -> str:
        return brief(event.changes)

    @admin.display(description=_("change"))
    def whole_change(self, event: Any) -> str:
        return str(event.changes)

    @admin.display(description=_("user"))
    def user(self, event: Any) -> str:
        case = reverse("backoffice_case", args=(event.pgh_obj_id,))
        return format_html('<a href="{}">{}</a>', case, event.pgh_obj_id)

    @admin.display(description=_("by"))
    def made_by(self, event: Any) -> str:
        return cells.made_by(event.pgh_context)

    @admin.display(description=_("origin"))
    def origin(self, event: Any) -> str:
        return cells.origin(event.pgh_context)


@admin.register(AccessRecord)
class AccessRecordAdmin(ReadOnlyAdmin):
    """Who opened, claimed or exported which user."""

    list_display = ("created_at", "kind", "staff", "of_user", "detail_text", "origin")
    list_filter = (SinceFilter, UntilFilter, ("kind", ChoicesDropdownFilter), ModeFilter)
    list_select_related = ("staff", "user__partner")
    search_fields = ("user",)
    search_help_text = _("What finds a user, or a staff username in full")
    change_list_template = _WITH_EXPORT
    ordering = ("-created_at", "-id")
    order_note = _("newest first")
    fields = ("created_at", "kind", "staff", "of_user", "detail_text", "origin")

    def matching(self, request: HttpRequest, term: str) -> Q:
        """Search by the user or the staff member named exactly, or else by what finds users."""
        if exact := find_exactly(term, mode_of(request)):
            return Q(user__in=exact)
        if Staff.objects.filter(username=term).exists():
            return Q(staff__username=term)
        return Q(user__in=users_found(request, term))

    @admin.display(description=_("user"))
    def of_user(self, record: AccessRecord) -> str:
        """A link to the case; exports of lists have none."""
        return "–" if record.user is None else user_link(record.user)

    @admin.display(description=_("request"))
    def origin(self, record: AccessRecord) -> str:
        return cells.on_click(record.request_id)

    @admin.display(description=_("detail"))
    def detail_text(self, record: AccessRecord) -> str:
        """The page that was opened, or what was claimed or exported."""
        return record.detail_text or "–"
