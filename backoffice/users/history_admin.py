"""The admin of what happened to users: decisions, the profile history, the access log."""

from collections.abc import Mapping
from typing import Any, ClassVar

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
from backoffice.lists.cells import badge, brief, column, moment, user_link
from backoffice.lists.filters import SinceFilter, UntilFilter
from backoffice.lists.pages import ReadOnlyAdmin
from backoffice.users.filters import ModeFilter, ReasonFilter, mode_of, users_found
from staff.models import Staff
from users.decisions.decision_basis import FieldChange, differences
from users.decisions.reasons import NOTES_PERMISSION, label_of, move_of, note_of, people_of
from users.models import AccessKind, AccessRecord, OpenedPage, Proposal, Status, StatusChange, UserEvent
from users.models.columns import IDENTITY_PERMISSION, PROFILE_COLUMNS
from users.search import find_exactly

# With a link to the export by period.
_WITH_EXPORT = "admin/users/history_list.html"
# A text, and a smaller one below it.
TWO_LINES = '{} <span class="bo-quiet bo-below-name">{}</span>'
STATUS_KINDS = {
    Status.PENDING_COMPLIANCE: "off",
    Status.ACTIVE: "good",
    Status.REJECTED: "bad",
    Status.SUSPENDED: "warning",
    Status.CLOSED: "bad",
}


class UserRowAdmin(ReadOnlyAdmin):
    """Rows of users, newest first, found by what finds a user."""

    list_select_related: ClassVar[tuple[str, ...]] = ("user__partner",)
    search_fields: ClassVar[tuple[str, ...]] = ("user",)
    search_help_text = _("Name, email or its domain, external ID, user ID or birth date (YYYY-MM-DD)")
    ordering: ClassVar[tuple[str, ...]] = ("-created_at", "-id")
    order_note = _("newest first")
    of_user = column(_("user"), lambda row: user_link(row.user))

    def matching(self, request: HttpRequest, term: str) -> Q:
        return Q(user__in=users_found(request, term))


def _reason_and_note(decision: StatusChange | Proposal) -> str:
    label, note = label_of(decision.reason_code), note_of(decision)
    return format_html(TWO_LINES, label, brief(note)) if label and note else brief(label or note)


def _people(change: StatusChange) -> str:
    second, *rest = people_of(change)
    return format_html(TWO_LINES, second, "; ".join(rest))


# The reason in words, and the first lines of the note below it.
REASON_AND_NOTE = column(_("reason and note"), _reason_and_note)


@admin.register(StatusChange)
class StatusChangeAdmin(UserRowAdmin):
    """Every decision. Ids are drawn before the row's trigger locks the user and sets the time."""

    list_display = ("when", "of_user", "decision", "people", "reason_and_note")
    list_filter = (
        *(SinceFilter, UntilFilter, ("to_status", ChoicesDropdownFilter), ReasonFilter),
        *(("partner", RelatedDropdownFilter), ("by", RelatedDropdownFilter), ModeFilter),
    )
    list_select_related = ("by", "proposal__by", "user__partner")
    change_list_template = _WITH_EXPORT
    guarded_fields: ClassVar[Mapping[Any, str]] = {"whole_note": NOTES_PERMISSION}
    fields = ("when", "of_user", "partner_of_user", "from_status", "to_status", "people", "reason_label", "whole_note")

    when = column(_("when"), lambda change: moment(change.created_at), ordering="created_at")
    # The decision's own column is for the filter, and may be empty.
    partner_of_user = column(_("partner"), lambda change: change.user.partner.name)
    decision = column(_("decision"), lambda change: badge(move_of(change), STATUS_KINDS[Status(change.to_status)]))
    people = column(_("by"), _people)
    reason_label = column(_("reason"), lambda change: label_of(change.reason_code) or "–")
    reason_and_note = REASON_AND_NOTE
    whole_note = column(_("note"), lambda change: note_of(change) or "–")

    def get_list_display(self, request: HttpRequest) -> Any:
        """The reason alone for those who may not read notes."""
        *columns, last = super().get_list_display(request)
        return [*columns, last if request.user.has_perm(NOTES_PERMISSION) else "reason_label"]

    def index_orders(self, request: HttpRequest) -> Mapping[str, tuple[str, ...]]:
        return {"when": ("created_at", "id")}


def _change_in_words(event: Any, previous: Any | None, *, sees_identity: bool) -> str:
    """What an event changed, such as *Last name: Okafor → Okafor-Gagnon*, of the fields that the reader may see."""
    if previous is None:
        return gettext("Submitted")
    changes = [*differences(previous, event, sees_identity=sees_identity)]
    if event.status != previous.status:
        changes.insert(0, FieldChange("status", previous.status, event.status))
    if not changes and previous.profile_changed_at != event.profile_changed_at:
        return gettext("Profile changed")
    text = gettext("%(field)s: %(old)s → %(new)s")
    return "; ".join(text % {"field": one.label, "old": one.old, "new": one.new} for one in changes)


@admin.register(UserEvent)
class UserEventAdmin(UserRowAdmin):
    """Every change of a user's row, with the row after it."""

    list_display = ("when", "of_user", "change", "made_by", "origin")
    list_filter = (ModeFilter,)
    list_select_related = ("partner",)
    ordering = ("-pgh_id",)
    fieldsets = (
        (None, {"fields": ("when", "whole_change", "made_by", "origin")}),
        (_("The user after it"), {"fields": ("user", "external_id", "partner", "status", "created_at", "updated_at")}),
        (_("Profile"), {"fields": PROFILE_COLUMNS}),
    )

    of_user = column(_("user"), user_link)
    when = column(_("when"), lambda event: moment(event.pgh_created_at), ordering="pgh_id")
    change = column(_("change"), lambda event: brief(event.changes))
    whole_change = column(_("change"), lambda event: event.changes)
    made_by = column(_("by"), lambda event: cells.made_by(event.pgh_context))
    origin = column(_("origin"), lambda event: cells.on_click(cells.made_through(event.pgh_context)))

    def index_orders(self, request: HttpRequest) -> Mapping[str, tuple[str, ...]]:
        return {"when": ("pgh_id",)}

    def prepare_rows(self, request: HttpRequest, rows: list[Any]) -> None:
        """Attach what each changed since the event before it of the same user, in two statements."""
        earlier = UserEvent.objects.filter(pgh_obj=OuterRef("pgh_obj"), pgh_id__lt=OuterRef("pgh_id"))
        latest = Subquery(earlier.order_by("-pgh_id").values("pk")[:1])
        previous = dict(UserEvent.objects.filter(pk__in=[row.pk for row in rows]).values_list("pk", latest))
        found = UserEvent.objects.in_bulk([pk for pk in previous.values() if pk is not None])
        sees_identity = request.user.has_perm(IDENTITY_PERMISSION)
        for row in rows:
            row.changes = _change_in_words(row, found.get(previous.get(row.pk)), sees_identity=sees_identity)

    def matching(self, request: HttpRequest, term: str) -> Q:
        return Q(pgh_obj__in=users_found(request, term))

    def render_change_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Django's page; opening it is recorded in the access log."""
        self.prepare_rows(request, [kwargs["obj"]])
        record_access(request, AccessKind.OPENED, user=kwargs["obj"].pgh_obj, detail=OpenedPage.HISTORY)
        return super().render_change_form(request, *args, **kwargs)

    @admin.display(description=_("user"))
    def user(self, event: Any) -> str:
        case = reverse("backoffice_case", args=(event.pgh_obj_id,))
        return format_html('<a href="{}">{}</a>', case, event.pgh_obj_id)


@admin.register(AccessRecord)
class AccessRecordAdmin(UserRowAdmin):
    """Who opened, claimed or exported which user."""

    list_display = ("created_at", "kind", "staff", "of_user", "detail_text", "origin")
    list_filter = (SinceFilter, UntilFilter, ("kind", ChoicesDropdownFilter), ModeFilter)
    list_select_related = ("staff", "user__partner")
    search_help_text = _("What finds a user, or a staff username in full")
    change_list_template = _WITH_EXPORT
    fields = ("created_at", "kind", "staff", "of_user", "detail_text", "origin")

    # Exports of lists have no user.
    of_user = column(_("user"), lambda record: user_link(record.user) if record.user else "–")
    origin = column(_("request"), lambda record: cells.on_click(record.request_id))
    detail_text = column(_("detail"), lambda record: record.detail_text or "–")

    def matching(self, request: HttpRequest, term: str) -> Q:
        """Search by the user or the staff member named exactly, or else by what finds users."""
        if exact := find_exactly(term, mode_of(request)):
            return Q(user__in=exact)
        is_username = Staff.objects.filter(username=term).exists()
        return Q(staff__username=term) if is_username else super().matching(request, term)
