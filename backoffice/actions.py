"""An act of staff: who may, the form, the rule that it calls, and the page that shows the form and why it was refused.

`Action` is an address of its own. `RowAction` acts on a row of an admin, and `act_on_each` on the selected rows of a
list; on a case it is `CaseAction` (backoffice/case/acts.py).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial, wraps
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Manager, Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods
from unfold.decorators import action
from unfold.enums import ActionVariant

from backoffice.access import request_id_of, staff_of
from backoffice.lists.cells import labelled
from backoffice.lists.pages import address_of
from core.refusals import RefusedError
from partners.models import Partner
from staff.login.factors import FRESH_SECONDS, require_fresh_factor
from staff.models import Staff
from users.models import User
from users.refusals import ReasonMissingError, convert_lock_timeout, refusal_of


@dataclass(slots=True)
class Act:
    """One use of an action. row: None for a new one. page: the admin, where the action is of one.

    status, refusal: of the page that shows the form again, and why nothing was done.
    """

    request: HttpRequest
    staff: Staff
    row: Any = None
    page: Any = None
    form: Any = None
    status: int = HTTPStatus.OK
    refusal: Any = None

    @property
    def made_by(self) -> dict[str, Any]:
        """Who acts, and the source that the history names: arguments of the rules."""
        return {"by": self.staff, "source": f"request {request_id_of(self.request)}"}

    @property
    def made_on(self) -> dict[str, Any]:
        """Likewise, of rules that compare the version of the user that the person saw."""
        return {"expected_version": self.version, **self.made_by}

    @property
    def version(self) -> str:
        """The version of the row that the person saw, as the form sends it back."""
        return self.request.POST.get("version", "")

    def sent_row(self, rows: Manager[Any], name: str) -> Any:
        """The one of these rows whose id the form sends by this name. Raises Http404."""
        try:
            wanted = UUID(self.request.POST.get(name, ""))
        except ValueError:
            raise Http404 from None
        return get_object_or_404(rows, pk=wanted)


# Given an Act, after the admin where the action is of one. It returns what was done, for people, or the response that
# follows; None: the form is not valid.
Rule = Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class Action:
    """Something that staff do; it decorates the function that calls the rule with a valid form.

    RefusedError and ValidationError are shown with the form again: nothing was done then.

    permissions: all are needed. fresh_seconds: how fresh a second factor a POST needs; 0: none does.
    form_options: further arguments of the form. rule_comes_first: whether the rule is called with a form that is not
    valid, too: it says first what a colleague has done meanwhile. page: shows the form again. home: where a GET leads,
    such as after a login, and what was done is said.
    """

    permissions: tuple[str, ...] = ()
    form_class: Callable[..., forms.Form] = forms.Form
    form_options: Callable[[Act], dict[str, Any]] = lambda _act: {}
    fresh_seconds: int = 0
    rule_comes_first: bool = False
    is_atomic: bool = False
    page: Any = None
    home: Any = None

    def __call__(self, rule: Rule) -> Any:
        """The view."""

        @require_http_methods(["GET", "HEAD", "POST"])
        @wraps(rule)
        def view(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
            staff = staff_of(request, *self.permissions)
            return self.respond(Act(request, staff, self.find(**kwargs)), rule)

        return view

    def find(self, **kwargs: Any) -> Any:
        """The user that the address names, or else the id. Raises Http404."""
        return user_or_404(kwargs["user_id"]) if "user_id" in kwargs else next(iter(kwargs.values()), None)

    def show(self, act: Act) -> HttpResponse:
        """The page with the form of `act`, which may have been refused."""
        response: HttpResponse = self.page(act)
        return response

    def get(self, act: Act) -> HttpResponse:
        """The response to a GET."""
        response: HttpResponse = self.home(act)
        return response

    def succeed(self, act: Act, done: Any) -> HttpResponse:
        """Say what was done, on the page that follows."""
        say_taken(act, done)
        return self.get(act)

    def download_back(self, act: Act) -> str:
        """The page that a download leads back to after a verification; empty where the response is no file."""
        return ""

    def respond(self, act: Act, rule: Rule) -> HttpResponseBase:
        """Call the rule where the form is sent and valid; otherwise, and where that is refused, show the page."""
        if act.request.method != "POST":
            return self.get(act)
        if self.fresh_seconds and (
            verification := require_fresh_factor(
                act.request, within=self.fresh_seconds, download_back=self.download_back(act)
            )
        ):
            return verification
        act.form = self.form_class(act.request.POST, **self.form_options(act))
        done = None
        # Before the transaction: a form may look up a host name.
        if act.form.is_valid() or self.rule_comes_first:
            try:
                with convert_lock_timeout(), transaction.atomic() if self.is_atomic else nullcontext():
                    done = rule(act)
            except ReasonMissingError as missing:
                act.form.add_error("note", str(missing))
            except RefusedError as refusal:
                act.refusal = refusal
            except ValidationError as error:
                act.form.add_error(None, error)
            except ObjectDoesNotExist:
                raise Http404 from None
        if done is not None:
            return done if isinstance(done, HttpResponseBase) else self.succeed(act, done)
        act.status = HTTPStatus.CONFLICT if act.refusal else HTTPStatus.UNPROCESSABLE_ENTITY
        # The first text that was refused takes the focus; of several choices each would.
        refused = (act.form.fields[name].widget for name in act.form.errors if name in act.form.fields)
        for widget in [one for one in refused if isinstance(one, forms.Textarea)][:1]:
            widget.attrs["autofocus"] = True
        return self.show(act)


def user_or_404(user_id: UUID) -> User:
    """The user, with the partner. Raises Http404."""
    return get_object_or_404(User.objects.select_related("partner"), pk=user_id)


def say_taken(act: Act, text: str) -> None:
    """Say that what was sent was done, on the next page, which then forgets what the person typed (backoffice.js)."""
    messages.success(act.request, format_html("<span data-taken>{}</span>", text))


@dataclass(frozen=True, kw_only=True)
class RowAction(Action):
    """On a row of an admin, whose method it decorates: a link of Unfold's on the row's page, and a page that asks.

    title: of the link. permission: needed as well as the one to view the row. heading, button: the title if empty.
    note: what will happen. is_possible: whether the row's state allows it. in_header: whether the link is there, or
    above the fields. version: of a row as the page shows it, which the form sends back; after another one nothing is
    done. lock: what the version is read under.
    """

    title: Any
    permission: str
    heading: Any = ""
    button: Any = ""
    note: Any = ""
    icon: str | None = None
    variant: ActionVariant = ActionVariant.DEFAULT
    is_possible: Callable[[Any], bool] = lambda _row: True
    in_header: bool = True
    is_atomic: bool = True
    version: Callable[[Any], str] = lambda _row: ""
    lock: Callable[[Any], object] = lambda _row: None

    def __call__(self, rule: Rule) -> Any:
        """Unfold's action; also Django's `add_view`, which has no row."""

        def checked(act: Act) -> Any:
            self.lock(act.row)
            if act.version != self.version(act.row):
                # The present values, where the form shows some.
                if "initial" in (options := self.form_options(act)):
                    act.form = self.form_class(**options)
                raise RefusedError(_("This has changed since the page was loaded. Check it, then try again."))
            return rule(act.page, act)

        @wraps(rule)
        def respond(page: Any, request: HttpRequest, object_id: str = "", *_: Any) -> HttpResponseBase:
            row = page.get_object_or_404(request, object_id) if object_id else None
            if row is not None and not page.may_act(request, row):
                raise PermissionDenied
            return self.respond(Act(request, staff_of(request), row, page), checked)

        respond.row_action = self  # type: ignore[attr-defined]
        permissions = ["view", self.permission]
        return action(description=self.title, permissions=permissions, icon=self.icon, variant=self.variant)(respond)

    def get(self, act: Act) -> HttpResponse:
        act.form = self.form_class(**self.form_options(act))
        return self.show(act)

    def show(self, act: Act) -> HttpResponse:
        title = self.heading or self.title
        context = act.page.admin_site.each_context(act.request) | {
            "opts": act.page.opts,
            "original": act.row,
            "page_name": title,
            "title": title,
            "form": act.form,
            "refusal": act.refusal,
            "back": address_of(act.row or act.page.model),
            "button": self.button or self.title,
            "note": self.note,
            "is_dangerous": self.variant == ActionVariant.DANGER,
            "version": self.version(act.row),
        }
        return TemplateResponse(act.request, "admin/action_form.html", context)

    def succeed(self, act: Act, done: Any) -> HttpResponse:
        messages.success(act.request, done)
        return redirect(address_of(act.row))


def issuing_action(*, secrets: Callable[[Any], QuerySet[Any]], **options: Any) -> RowAction:
    """Makes a secret once, however often the form is sent. secrets: the partner's; the newest is the version."""

    def newest(row: Any) -> str:
        return str(secrets(row).order_by("-pk").values_list("pk", flat=True).first() or "")

    def lock(row: Any) -> None:
        """Have one of two forms that are sent at once refused."""
        Partner.objects.select_for_update(no_key=True).get(pk=row.pk if isinstance(row, Partner) else row.partner_id)

    return RowAction(version=newest, lock=lock, fresh_seconds=FRESH_SECONDS, **options)


def show_once(act: Act, row: Model, **context: Any) -> HttpResponse:
    """The page with a new secret: the response to the POST itself, which no cache keeps (admin_view: no-store)."""
    page = act.page.admin_site.each_context(act.request) | {"opts": row._meta, "row": row}  # noqa: SLF001
    return TemplateResponse(act.request, "admin/issued.html", page | {"back": address_of(row)} | context)


def act_on_each(
    request: HttpRequest, rows: Iterable[Any], rule: Callable[[Any], object], done: Callable[[int], str]
) -> None:
    """Call the rule with each row, and say what it refused, by the reason. done: what is said of the other rows."""
    refusals, count = defaultdict[str, list[str]](list), 0
    for row in rows:
        if refusal := refusal_of(partial(rule, row)):
            refusals[refusal].append(getattr(row, "user", row).external_id)
        else:
            count += 1
    for reason, external_ids in refusals.items():
        messages.error(request, labelled(", ".join(external_ids), reason))
    if count:
        messages.success(request, done(count) % {"count": count})
