"""Who downloaded a document: a line of the audit log, before the first byte is sent."""

import json
from collections.abc import Mapping

import structlog
from django.db import DatabaseError, InterfaceError
from django.utils.translation import gettext_lazy as _

from partners.db import statements
from partners.db.audit import insert_entry, register
from transactions.models import Document

log = structlog.get_logger("transactions.documents.access")

DOWNLOADED = register("document.downloaded", _("Document downloaded"))

# Further downloads within the hour add nothing: a client that asks again and again does not fill the log.
_RECORD = insert_entry(
    f"'{DOWNLOADED}'",
    object="%s",
    context="%s::jsonb",
    user="%s::uuid",
    where=f"""NOT EXISTS (
        SELECT FROM partners_auditentry earlier
         WHERE earlier.object = %s AND earlier.action = '{DOWNLOADED}' AND earlier.at > now() - interval '1 hour'
           AND earlier.actor = coalesce(context ->> 'staff', context ->> 'partner')
           AND earlier.detail ->> 'key' IS NOT DISTINCT FROM context ->> 'key')""",
)


def record_download(document: Document, *, by: Mapping[str, str]) -> None:
    """Record that a document is being downloaded; none of the sandbox's, which are the partner's own.

    by: who it is, by the names of partners/db/history_context.py: one statement needs no transaction.
    """
    if document.is_sandbox:
        return
    name = str(document.document_id)
    try:
        statements.run(_RECORD, (name, str(document.user_id), json.dumps(dict(by)), name))
    except (DatabaseError, InterfaceError):
        # Reads work without a database that takes writes. The line `document sent` says who it was, too.
        log.exception("document download could not be recorded", document=name)
