"""Holds on a user's records (docs/operations.md, "Records")."""

from http import HTTPStatus
from uuid import UUID

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from backoffice.access import staff_of
from backoffice.case.actions import CaseAction, say_taken
from users.models import Hold, User
from users.models.retention import HOLD_REASON_LENGTH
from users.records import holds


class HoldForm(forms.Form):
    """The reason of a hold, or of its release."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=HOLD_REASON_LENGTH,
        widget=forms.Textarea(attrs={"rows": 3, "class": "bo-input"}),
    )


class PlaceHold(CaseAction):
    """Show the holds on a user's records and the form of another; a POST places it."""

    permission = holds.PERMISSION
    form_class = HoldForm

    def get(self, request: HttpRequest, user_id: UUID) -> HttpResponse:
        return _holds_page(request, self.user, HoldForm(), status=HTTPStatus.OK)

    def act(self) -> str:
        holds.place_hold(user_id=self.user.pk, reason=self.form.cleaned_data["reason"], **self.made_by)
        return _("The records of %(user)s are held.") % {"user": self.user.external_id}

    def show_again(self, status: int, refusal: object = None) -> HttpResponse:
        return _holds_page(self.request, self.user, self.form, refusal=refusal, status=status)


class ReleaseHold(CaseAction):
    """Release one of the holds."""

    http_method_names = ["post"]
    permission = holds.PERMISSION
    form_class = HoldForm

    def get_form(self) -> HoldForm:
        self.hold = self.sent_row(self.user.holds, "hold")
        return HoldForm(self.request.POST)

    def act(self) -> str:
        holds.release_hold(hold_id=self.hold.pk, reason=self.form.cleaned_data["reason"], **self.made_by)
        return _("The hold is released.")

    def show_again(self, status: int, refusal: object = None) -> HttpResponse:
        return _holds_page(self.request, self.user, self.form, refused=self.hold.pk, refusal=refusal, status=status)

    def succeed(self, done: str) -> HttpResponse:
        say_taken(self.request, done)
        return redirect("backoffice_hold", self.user.pk)


def _holds_page(
    request: HttpRequest,
    user: User,
    form: HoldForm,
    *,
    status: int,
    refused: UUID | None = None,
    refusal: object = None,
) -> HttpResponse:
    """Render the page. refused: the hold whose release was not valid, with its form; else it is that of a new one."""
    staff = staff_of(request)
    listed = [
        {
            "hold": one,
            "release": getattr(one, "release", None),
            "is_own": one.by_id == staff.pk,
            "form": form if one.pk == refused else HoldForm(auto_id=f"id_{one.pk}_%s"),
        }
        for one in Hold.objects.filter(user=user).select_related("by", "release__by").order_by("-created_at", "id")
    ]
    context = {
        **admin.site.each_context(request),
        "title": _("Holds of case %(id)s") % {"id": str(user.pk)[:8]},
        "case_user": user,
        "holds": listed,
        "is_held": any(one["release"] is None for one in listed),
        "form": HoldForm() if refused else form,
        "refusal": refusal,
    }
    return render(request, "backoffice/records/holds.html", context, status=status)
