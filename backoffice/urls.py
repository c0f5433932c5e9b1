"""URLs of the back office, under /admin/."""

from collections.abc import Callable

from django.contrib import admin
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path

from backoffice import retention
from backoffice.case import acts, file
from backoffice.exports import views as exports
from backoffice.landing import landing


def _page(route: str, view: Callable[..., HttpResponseBase], name: str) -> URLPattern:
    return path(route, admin.site.admin_view(view), name=f"backoffice_{name}")


_CASE = "cases/<uuid:user_id>/"

urlpatterns: list[URLPattern] = [
    _page("", landing, "landing"),
    _page("cases/next/", acts.next_case, "next"),
    _page(_CASE, acts.case, "case"),
    _page(f"{_CASE}claim/", acts.claim, "claim"),
    _page(f"{_CASE}release/", acts.release, "release"),
    _page(f"{_CASE}decide/", acts.decide, "decide"),
    _page(f"{_CASE}proposal/approve/", acts.approve_proposal, "approve_proposal"),
    _page(f"{_CASE}proposal/decline/", acts.decline_proposal, "decline_proposal"),
    _page(f"{_CASE}ask/", acts.ask, "ask"),
    _page(f"{_CASE}requirement/close/", acts.close_requirement, "close_requirement"),
    _page(f"{_CASE}note/", acts.add_note, "note"),
    _page(f"{_CASE}evidence/", exports.export_evidence_pack, "evidence"),
    _page(f"{_CASE}copy/", exports.export_person_copy, "person_copy"),
    _page(f"{_CASE}file/<str:kind>/", file.file_page, "file"),
    _page(f"{_CASE}file/<str:kind>/add/", file.add_entry, "add_file_entry"),
    _page(f"{_CASE}file/<str:kind>/close/", file.end_entry, "end_file_entry"),
    _page(f"{_CASE}file/<str:kind>/number/", file.show_number, "file_number"),
    _page(f"{_CASE}hold/", retention.place_hold, "hold"),
    _page(f"{_CASE}hold/release/", retention.release_hold, "release_hold"),
    _page("records/", retention.overview, "records"),
    _page("records/due.csv", retention.due_list, "due_list"),
    _page("records/propose/", retention.propose, "propose_erasure"),
    _page("records/<uuid:erasure_id>/approve/", retention.approve, "approve_erasure"),
    _page("records/<uuid:erasure_id>/decline/", retention.decline, "decline_erasure"),
    _page("exports/", exports.exports, "exports"),
    _page("exports/packs/", exports.export_evidence_packs, "evidence_packs"),
    *(_page(f"exports/{name}.csv", view, f"export_{name}") for name, view in exports.LIST_VIEWS.items()),
]
