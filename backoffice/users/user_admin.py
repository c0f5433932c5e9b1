"""The admin of users: their lists, what can be done with the selected ones, and users by pasted identifiers."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.decorators import action

from backoffice.access import request_id_of, staff_of
from backoffice.actions import act_on_each
from backoffice.exports.evidence_pack import MAX_USERS
from backoffice.exports.views import packs_page
from backoffice.lists.cells import badge, column, date_column, display_flags, icon_and_text, moment, user_link
from backoffice.lists.pages import ReadOnlyAdmin
from backoffice.lists.waiting_time import age_cell
from backoffice.users.filters import mode_of, sees_identity, warn_of_cut
from backoffice.users.history_admin import STATUS_KINDS
from backoffice.users.user_lists import ALL, HEAD, QUEUE_ORDER, WORK_LISTS, UserList, head_context, list_of
from partners.models import Mode
from users import claims, search
from users.decisions import compliance
from users.decisions.risk_flags import risk_flag_codes
from users.models import Claim, Status, User
from users.retention import erased_text

MAX_SELECTED = 100


class IdentifiersForm(forms.Form):
    """Identifiers, `users` whom they find, and those that are `missing`, with the text of who is erased."""

    identifiers = forms.CharField(
        label=gettext_lazy("Identifiers"),
        widget=forms.Textarea({"rows": 12, "spellcheck": "false"}),
        help_text=gettext_lazy("External IDs and user IDs, a line each."),
    )
    mode = forms.ChoiceField(label=gettext_lazy("Mode"), choices=Mode.choices)

    def clean(self) -> dict[str, Any]:
        """Find the users, as many as an evidence pack takes."""
        cleaned = super().clean() or {}
        if cleaned.keys() >= {"identifiers", "mode"}:
            lines = map(str.strip, cleaned["identifiers"].splitlines())
            identifiers = [*dict.fromkeys(filter(None, lines))]
            self.users, missing = search.find_identified(identifiers[: MAX_USERS + 1], cleaned["mode"], MAX_USERS)
            self.missing = {one: erased_text(erased) if erased else "" for one, erased in missing.items()}
            if max(len(identifiers), len(self.users)) > MAX_USERS:
                text = _("At most %(most)s at a time: paste fewer.")
                self.add_error("identifiers", text % {"most": MAX_USERS})
        return cleaned


def _status_badge(user: User) -> str:
    return badge(user.get_status_display(), STATUS_KINDS[Status(user.status)])


@admin.register(User)
class UserAdmin(ReadOnlyAdmin):
    """The lists of backoffice/users/user_lists.py, each at its address; a name leads to the case."""

    list_display = ALL.columns
    list_display_links = None
    list_filter = ALL.filters
    list_select_related = ("partner", "claim__staff")
    list_before_template = HEAD
    ordering = ALL.ordering
    actions: tuple[str, ...] = ("claim_selected", "release_selected", "export_selected")
    actions_list = ("identified",)
    search_fields = ("id", "external_id", "email", "first_name", "last_name")
    search_help_text = gettext_lazy("Name, email or its domain, external ID, user ID or birth date (YYYY-MM-DD)")
    # An action is bounded, and on rows that the person has seen.
    list_disable_select_all = True

    def get_urls(self) -> list[URLPattern]:
        """Django's, but those of a row, whose page is the case; and one for each work list."""
        view = self.admin_site.admin_view(self.changelist_view)
        lists = [path(f"{name}/", view, name=f"users_user_{name}") for name in WORK_LISTS]
        return [*lists, *(one for one in super().get_urls() if "object_id" not in str(one.pattern))]

    def head_of(self, request: HttpRequest) -> dict[str, Any]:
        return {} if list_of(request) is ALL else head_context(request)

    def texts_of(self, request: HttpRequest) -> UserList:
        return list_of(request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).filter(list_of(request).condition)

    def get_ordering(self, request: HttpRequest) -> Any:
        return list_of(request).ordering

    def get_list_display(self, request: HttpRequest) -> Any:
        return [date_column(self.model, one) for one in list_of(request).columns]

    def get_list_filter(self, request: HttpRequest) -> Any:
        return list_of(request).filters

    def index_orders(self, request: HttpRequest) -> Mapping[str, tuple[str, ...]]:
        """All users by status, and by the time in it; among users of one status also by that order."""
        if list_of(request) is not ALL:
            return {}
        columns = ("status_badge", "in_status") if request.GET.get("status__exact") else ("status_badge",)
        return dict.fromkeys(columns, ALL.ordering)

    def prepare_rows(self, request: HttpRequest, rows: list[Any]) -> None:
        """Attach the codes of the risk flags, the claim and the possible buttons to each user, in one statement."""
        if list_of(request) is ALL:
            return
        staff, sees = staff_of(request), sees_identity(request)
        codes = risk_flag_codes(rows, sees_identity=sees) if rows else {}
        for user in rows:
            held: Claim | None = getattr(user, "claim", None)
            user.held, user.flag_codes, user.has_all_flags = held, codes[user.pk], sees
            user.is_mine = held is not None and held.staff_id == staff.pk
            user.may = compliance.permitted_actions(user=user, claim=held, staff=staff)

    user = column(gettext_lazy("user"), user_link)
    status_badge = column(gettext_lazy("status"), _status_badge, ordering="status")
    # The age of the answer, which is compared with the target.
    since_answer = column(gettext_lazy("since the answer"), lambda user: age_cell(user.waiting_since))
    since_change = column(
        gettext_lazy("since the change"), lambda user: age_cell(user.identity_changed_at, is_due=False)
    )
    user_and_status = column(
        gettext_lazy("user"), lambda user: format_html("{} {}", user_link(user), _status_badge(user))
    )

    @admin.display(description=gettext_lazy("in this status"), ordering="status_since")
    def in_status(self, user: Any) -> str:
        """The time in this status; while a decision is due, the time that is compared with the target."""
        is_due = user.status == Status.PENDING_COMPLIANCE
        if is_due and user.waiting_since is None:
            return badge(_("Waiting for the partner"), "off")
        age = age_cell(user.waiting_since if is_due else user.status_since, is_due=is_due)
        if not user.is_answered:
            return age
        mark = badge(icon_and_text("mark_email_read", _("Answered")), "good")
        return format_html('<div class="bo-answered">{}</div>{}', mark, age)

    @admin.display(description=gettext_lazy("due"))
    def due(self, user: Any) -> str:
        """When the first answer is due, whether that has passed, and how many are missing."""
        is_overdue = user.requirements_due_at < timezone.now()
        mark = badge(icon_and_text("error", _("Overdue")), "bad") if is_overdue else ""
        count = user.open_requirements
        missing = ngettext("%(count)s open", "%(count)s open", count) % {"count": count}
        cell = '<div class="bo-age">{} <strong>{}</strong> <span>{}</span></div>'
        return format_html(cell, mark, moment(user.requirements_due_at), missing)

    @admin.display(description=gettext_lazy("province"))
    def place(self, user: Any) -> str:
        """The province, and the country where it is not Canada."""
        return ", ".join(part for part in (user.province, user.country if user.country != "CA" else "") if part)

    @admin.display(description=gettext_lazy("risk flags"))
    def risk_flags(self, user: Any) -> str:
        none = _("None") if user.has_all_flags else _("None that your role sees")
        return display_flags(user.flag_codes) or format_html('<span class="bo-quiet">{}</span>', none)

    @admin.display(description=gettext_lazy("claimed by"))
    def claimed_by(self, user: Any) -> str:
        if user.held is None:
            return format_html('<span class="bo-quiet">{}</span>', _("Nobody"))
        return format_html('<strong class="bo-mine">{}</strong>', _("You")) if user.is_mine else str(user.held.staff)

    @admin.display(description="")
    def buttons(self, user: Any) -> str:
        """Buttons of backoffice/case/acts.py, in the form of the list's head."""
        texts = {"claim": (_("Claim %(name)s"), _("Claim")), "release": (_("Release %(name)s"), _("Release"))}
        cells = (
            (reverse(f"backoffice_{view}", args=(user.pk,)), label % {"name": user.full_name}, text)
            for view, (label, text) in texts.items()
            if user.may[view]
        )
        button = '<button class="bo-button bo-plain" form="case-button" formaction="{}" aria-label="{}">{}</button>'
        return format_html_join(" ", button, cells)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """The users that match, and a warning where they are too many to examine."""
        if not (term := search_term.strip()):
            return queryset, False
        mode, sees = mode_of(request), sees_identity(request)
        if search.is_cut(term, mode, sees_identity=sees):
            warn_of_cut(request, search.MAX_PREFIX_MATCHES)
        for erased in search.find_erased(term):
            messages.info(request, f"{erased.pk}: {erased_text(erased)}")
        return queryset.filter(search.matches(term, mode, sees_identity=sees)), False

    def has_claim_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(claims.PERMISSION)

    @admin.action(description=gettext_lazy("Claim"), permissions=["claim"])
    def claim_selected(self, request: HttpRequest, _queryset: QuerySet[User]) -> None:
        """Claim each selected case that is free."""
        done = partial(ngettext, "%(count)s case is yours.", "%(count)s cases are yours.")
        self.call_on_selected(request, claims.claim, done)

    @admin.action(description=gettext_lazy("Release"), permissions=["claim"])
    def release_selected(self, request: HttpRequest, _queryset: QuerySet[User]) -> None:
        """Release each selected case that the person may release."""
        done = partial(ngettext, "%(count)s case is free.", "%(count)s cases are free.")
        self.call_on_selected(request, claims.release, done)

    def call_on_selected(self, request: HttpRequest, rule: Callable[..., object], done: Callable[[int], str]) -> None:
        by = {"staff": staff_of(request), "request_id": request_id_of(request)}
        act_on_each(request, self.selected(request), lambda user: rule(user=user, **by), done)

    def has_export_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("users.export_user")

    @admin.action(description=gettext_lazy("Evidence packs …"), permissions=["export"])
    def export_selected(self, request: HttpRequest, _queryset: QuerySet[User]) -> HttpResponse | None:
        """Show of which users the packs will be."""
        users = self.selected(request)
        return packs_page(request, users, back=request.get_full_path()) if users else None

    def selected(self, request: HttpRequest) -> list[User]:
        """The selected users, also those decided meanwhile; none, and a message, where they are too many."""
        chosen = request.POST.getlist(ACTION_CHECKBOX_NAME)
        found = User.objects.filter(pk__in=chosen).select_related("partner").order_by(*QUEUE_ORDER)
        if len(users := list(found[: MAX_SELECTED + 1])) <= MAX_SELECTED:
            return users
        text = _("At most %(most)s at a time: %(chosen)s are chosen.")
        messages.error(request, text % {"most": MAX_SELECTED, "chosen": len(chosen)})
        return []

    @action(description=gettext_lazy("Paste identifiers …"), permissions=["view"], icon="content_paste")  # type: ignore[untyped-decorator]
    def identified(self, request: HttpRequest) -> HttpResponse:
        """The users of pasted identifiers, by a POST: an externalId may be an e-mail address, which no URL has."""
        form = IdentifiersForm(request.POST if request.method == "POST" else None)
        form.is_valid()
        context = {"title": _("Users by identifiers"), "opts": self.opts, "form": form, "most": MAX_USERS}
        return TemplateResponse(
            request, "admin/users/user/identified.html", self.admin_site.each_context(request) | context
        )
