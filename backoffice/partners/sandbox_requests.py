"""The table of a sandbox partner's last requests, for those who support it."""

from typing import Any

from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from backoffice.lists.cells import badge, moment
from backoffice.lists.pages import TABLE_ROWS, Table
from partners import request_log
from partners.models import Partner, SandboxRequest

VIEW = "partners.view_sandboxrequest"


def table_of(partner: Partner) -> Table:
    """The partner's latest requests, the newest first."""
    return Table(
        _("Latest requests"),
        (_("time"), _("request"), _("status"), _("reason"), _("duration")),
        [
            (moment(one.created_at), _request(one), _status(one), _reason(one), f"{one.milliseconds} ms")
            for one in request_log.last_requests(partner.pk)[:TABLE_ROWS]
        ],
        note=_("The latest %(rows)d of the last 24 hours, without bodies.") % {"rows": TABLE_ROWS},
        empty=_("None in the last 24 hours."),
    )


def _request(row: SandboxRequest) -> str:
    target = f"{row.path}?{row.query}" if row.query else row.path
    return format_html('<code>{} {}</code> <span class="bo-below-name">{}</span>', row.method, target, row.request_id)


def _status(row: SandboxRequest) -> Any:
    if row.replayed:
        return badge(_("%(status)d, replayed") % {"status": row.status}, "good")
    return badge(row.status, "good" if row.error is None else "bad")


def _reason(row: SandboxRequest) -> Any:
    """The cause of a refused signature, the fields of a refused body, or the error; codes as on the wire."""
    if row.diagnosis is not None:
        sentence, _dot, _rest = row.diagnosis["message"].partition(". ")
        return format_html('{} <span class="bo-below-name">{}</span>', row.diagnosis["cause"], sentence)
    fields = ", ".join(f"{one['field']} ({one['code']})" for one in row.field_errors)
    return format_html('{} <span class="bo-below-name">{}</span>', row.error, fields) if row.error else "–"
