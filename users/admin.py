"""The back office of partners' users: looked at here, decided about here, edited by their partner alone."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from partners.admin_base import ReadOnlyAdmin, TextFilter
from partners.admin_sections import Action, SectionedAdmin, Table
from users import admin_history, admin_staff, compliance
from users.admin_decisions import decision_action, staff_of
from users.columns import PROFILE_COLUMNS
from users.models import StatusChange, User, UserEvent
from users.search import find_user_ids

__all__ = ("admin_staff",)


class CountryFilter(TextFilter):
    """By the country's code."""

    title = _("country code")
    parameter_name = "country"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The country's users."""
        value = (self.value() or "").strip().upper()
        return queryset.filter(country=value) if value else queryset


@admin.register(User)
class UserAdmin(SectionedAdmin):
    """Users: nothing is edited; the status moves by the rules of section 8 of the contract."""

    list_display = ("external_id", "partner", "status", "created_at", "updated_at")
    list_filter = ("status", "partner", CountryFilter)
    list_select_related = ("partner",)
    search_fields = ("id", "external_id", "email")
    search_help_text = _("The whole of a userId, an externalId or an email address.")
    # Of the index user_status_created_at.
    ordering = ("status", "created_at", "id")
    fieldsets = (
        (None, {"fields": ("id", "external_id", "partner", "status", "created_at", "updated_at")}),
        (_("Profile"), {"fields": PROFILE_COLUMNS}),
    )

    def continuation_of(self, request: HttpRequest) -> tuple[str, str] | None:
        """Users of one status are listed by when they were created."""
        return ("created_at__gte", "created_at") if request.GET.get("status__exact") else None

    def matching(self, term: str) -> Q:
        """By userId, externalId or email, each exact."""
        return Q(pk__in=find_user_ids(term))

    def tables_of(self, request: HttpRequest, obj: User) -> Iterator[Table]:
        """What was decided, and what changed."""
        if request.user.has_perm("users.view_statuschange"):
            yield admin_history.status_changes(obj)
        if request.user.has_perm("users.view_userevent"):
            yield admin_history.events(obj)

    def actions_of(self, request: HttpRequest, obj: User) -> Iterator[Action]:
        """Deciding, where there is anywhere to go."""
        if request.user.has_perm(compliance.PERMISSION) and compliance.allowed_moves(obj.status):
            yield decision_action(obj)

    def get_urls(self) -> list[URLPattern]:
        """Django's, and the decision's."""
        return [
            path("<path:object_id>/status/", self.admin_site.admin_view(self.decide), name="users_user_status"),
            *super().get_urls(),
        ]

    def decide(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Moves a user's status, or says why not."""
        self.require(request, compliance.PERMISSION)
        user = self.get_object(request, unquote(object_id))
        if user is None:
            raise Http404
        if request.method != "POST":
            return self.page_of(user)
        action, change = self._decided(request, user)
        if change is None:
            return self.show_again(request, user, action)
        messages.success(request, _("The status is %(status)s now.") % {"status": change.get_to_status_display()})
        return self.page_of(user)

    @transaction.atomic
    def _decided(self, request: HttpRequest, user: User) -> tuple[Action, StatusChange | None]:
        # Held until the move is made: what the form is compared with is what the move starts from.
        present = User.objects.select_for_update(no_key=True).get(pk=user.pk)
        action = decision_action(present, request.POST)
        if not action.form.is_valid():
            return action, None
        try:
            change = compliance.change_status(
                user=present,
                by=staff_of(request),
                source=f"request {request.request_id}",  # type: ignore[attr-defined]
                **{name: action.form.cleaned_data[name] for name in ("to_status", "reason", "reason_code")},
            )
        except compliance.DecisionRefusedError as refusal:
            action.form.add_error(None, str(refusal))
            return action, None
        self.log_change(request, present, f"Status changed: {change}.")
        return action, change


@admin.register(StatusChange)
class StatusChangeAdmin(ReadOnlyAdmin):
    """Every decision that was made."""

    list_display = (
        "created_at",
        "user__external_id",
        "user__partner",
        "from_status",
        "to_status",
        "by",
        "reason_code",
    )
    list_select_related = ("by", "user__partner")
    search_fields = ("user",)
    search_help_text = UserAdmin.search_help_text
    ordering = ("-id",)
    continuation = ("id__lt", "id")
    fields = ("created_at", "user", "from_status", "to_status", "by", "reason_code", "reason")

    def matching(self, term: str) -> Q:
        """By the user."""
        return Q(user__in=find_user_ids(term))


@admin.register(UserEvent)
class UserEventAdmin(ReadOnlyAdmin):
    """Every change of a user's row, as it left the row."""

    list_display = ("when", "external_id", "partner", "change", "made_by", "made_through", "status")
    list_select_related = ("partner",)
    search_fields = ("pgh_obj",)
    search_help_text = UserAdmin.search_help_text
    ordering = ("-pgh_id",)
    continuation = ("pgh_id__lt", "pgh_id")
    fieldsets = (
        (None, {"fields": ("when", "change", "made_by", "made_through")}),
        (
            _("The user after it"),
            {"fields": ("user", "external_id", "partner", "status", "created_at", "updated_at")},
        ),
        (_("Profile"), {"fields": PROFILE_COLUMNS}),
    )

    def matching(self, term: str) -> Q:
        """By the user."""
        return Q(pgh_obj__in=find_user_ids(term))

    @admin.display(description=_("when"))
    def when(self, event: Any) -> Any:
        """The instant of the change."""
        return event.pgh_created_at

    @admin.display(description=_("change"))
    def change(self, event: Any) -> Any:
        """Created or changed."""
        return _("created") if event.pgh_label == "insert" else _("changed")

    @admin.display(description=_("user"))
    def user(self, event: Any) -> str:
        """To the user as it is now."""
        return format_html(
            '<a href="{}">{}</a>', reverse("admin:users_user_change", args=(event.pgh_obj_id,)), event.pgh_obj_id
        )

    @admin.display(description=_("by"))
    def made_by(self, event: Any) -> str:
        """Who."""
        return admin_history.made_by(event.pgh_context)

    @admin.display(description=_("through"))
    def made_through(self, event: Any) -> str:
        """Which request or command."""
        return admin_history.made_through(event.pgh_context)
