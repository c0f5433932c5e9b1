"""URLs of the back office, under /admin/."""

from collections.abc import Callable

from django.contrib import admin
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, re_path

from backoffice.case import requirement_views as requirements
from backoffice.case import views as case
from backoffice.case.actions import CaseAction
from backoffice.exports import views as exports
from backoffice.landing import landing
from backoffice.records import erasures
from backoffice.records import views as record_views

_staff = admin.site.admin_view


def _act(action: type[CaseAction]) -> Callable[..., HttpResponseBase]:
    return _staff(action.as_view())


urlpatterns: list[URLPattern] = [
    path("", _staff(landing), name="backoffice_landing"),
    path("cases/next/", _staff(case.next_case), name="backoffice_next"),
    path("cases/<uuid:user_id>/claim/", _act(case.Claim), name="backoffice_claim"),
    path("cases/<uuid:user_id>/release/", _act(case.Release), name="backoffice_release"),
    path("cases/<uuid:user_id>/", _staff(case.case), name="backoffice_case"),
    path("cases/<uuid:user_id>/decide/", _act(case.Decide), name="backoffice_decide"),
    path(
        "cases/<uuid:user_id>/proposal/approve/",
        _act(case.ApproveProposal),
        name="backoffice_approve_proposal",
    ),
    path(
        "cases/<uuid:user_id>/proposal/decline/",
        _act(case.DeclineProposal),
        name="backoffice_decline_proposal",
    ),
    path("cases/<uuid:user_id>/ask/", _act(requirements.Ask), name="backoffice_ask"),
    path(
        "cases/<uuid:user_id>/requirement/close/",
        _act(requirements.CloseRequirement),
        name="backoffice_close_requirement",
    ),
    path("cases/<uuid:user_id>/note/", _act(case.AddNote), name="backoffice_note"),
    path("cases/<uuid:user_id>/evidence/", _staff(exports.export_evidence_pack), name="backoffice_evidence"),
    path("cases/<uuid:user_id>/copy/", _staff(exports.export_person_copy), name="backoffice_person_copy"),
    path("cases/<uuid:user_id>/hold/", _act(record_views.PlaceHold), name="backoffice_hold"),
    path("cases/<uuid:user_id>/hold/release/", _act(record_views.ReleaseHold), name="backoffice_release_hold"),
    path("records/", _staff(erasures.records), name="backoffice_records"),
    path("records/due.csv", _staff(erasures.due_list), name="backoffice_due_list"),
    path("records/propose/", _staff(erasures.propose), name="backoffice_propose_erasure"),
    path("records/<uuid:erasure_id>/approve/", _staff(erasures.approve), name="backoffice_approve_erasure"),
    path("records/<uuid:erasure_id>/decline/", _staff(erasures.decline), name="backoffice_decline_erasure"),
    path("exports/", _staff(exports.exports), name="backoffice_exports"),
    path("exports/packs/", _staff(exports.export_evidence_packs), name="backoffice_evidence_packs"),
    re_path(
        r"^exports/(?P<name>decisions|access-log)\.csv$", _staff(exports.history_list), name="backoffice_history_list"
    ),
    re_path(r"^exports/users\.(?P<extension>csv|ndjson)$", _staff(exports.user_list), name="backoffice_user_list"),
]
