"""What the lists of cases have in common above them: each other as tabs, the next case, and one's own claims."""

from typing import Any

from django.contrib.admin import ModelAdmin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse

from backoffice.access import staff_of
from backoffice.lists.bounded_lists import bounded_count, count_text
from backoffice.lists.pages import MODE
from backoffice.users import user_filters as filters
from backoffice.users.case_actions import flag_legend
from partners.models import Mode
from users.cases import claims
from users.decisions import proposals
from users.models import AnsweredUser, AskedUser, ChangedUser, Claim, Proposal, QueuedUser, User
from users.models.case import in_mode

TEMPLATE = "admin/users/user/queue_head.html"
_USERS = (QueuedUser, AnsweredUser, AskedUser, ChangedUser)


def head_context(request: HttpRequest, page: "ModelAdmin[Any]") -> dict[str, Any]:
    """The context of TEMPLATE. page: the list that is shown, one of those that the tabs lead to."""
    mode = filters.mode_of(request)
    return {
        "tabs": [
            *(_tab(page, model, mode, in_mode(User.objects.filter(_condition(page, model)), mode)) for model in _USERS),
            # Sandbox users have no proposals.
            *(
                [_tab(page, Proposal, mode, proposals.waiting())]
                if mode == Mode.LIVE and request.user.has_perm("users.view_proposal")
                else []
            ),
        ],
        "sees_identity": filters.sees_identity(request),
        "flag_legend": flag_legend(sees_identity=filters.sees_identity(request)),
        "may_claim": request.user.has_perm(claims.PERMISSION),
        "claimed_url": _url(QueuedUser, mode, claimed=filters.ME),
        "claimed_count": bounded_count(in_mode(Claim.objects.filter(staff=staff_of(request)), mode)),
    }


def _condition(page: "ModelAdmin[Any]", model: type[Model]) -> Any:
    listed: Any = page.admin_site.get_model_admin(model)
    return listed.condition


def _tab(page: "ModelAdmin[Any]", model: type[Model], mode: Mode, rows: Any) -> dict[str, Any]:
    listed: Any = page.admin_site.get_model_admin(model)
    return {
        "title": listed.list_title,
        "url": _url(model, mode),
        "count": count_text(bounded_count(rows)),
        "is_present": listed is page,
    }


def _url(model: type[Model], mode: Mode, **query: str) -> str:
    if mode == Mode.SANDBOX:
        query[MODE] = mode.value
    return reverse(f"admin:users_{model._meta.model_name}_changelist", query=query)  # noqa: SLF001
