"""Requirements: what compliance needs from a partner about a user, and the partner's answers (contract, section 13)."""

import re
import unicodedata
from collections.abc import Collection, Iterator
from collections.abc import Set as AbstractSet
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from core.json_rules import FILLERS
from core.refusals import RefusedError
from partners.models import Partner
from staff.models import Staff
from users import queries
from users.decisions import compliance
from users.models import Claim, Requirement, RequirementClosure, RequirementResponse, RequirementState, User
from users.models.columns import PROFILE_COLUMNS, Profile
from users.models.requirements import CLOSURE_NOTE_LENGTH, MAX_REQUIREMENTS, MESSAGE_LENGTH
from users.models.statuses import ENDED_STATUSES
from users.queries import StoredUser, UserSummary
from users.refusals import refused_by_database, stripped


def _abbreviations(*names: str) -> str:
    """Match an abbreviation with dots or without, in the plural or not."""
    dotted = (r"\.?".join(name) for name in names)
    return "|".join(rf"{name}\.?s?" for name in dotted)


# Whole words with their inflections, in both languages, without accents. STR and DOD count in capitals alone: `str.` is
# a street.
_FORBIDDEN = re.compile(
    # A digit beside a word hides nothing.
    r"(?<![^\W\d_])(?:"
    r"sanction\w*|fraud\w*|suspic\w*|suspect\w*|launder\w*|terroris\w*|watch[\s-]*list\w*|investigat\w*"
    r"|police\w*|policing|policiere?s?|politically[\s-]+expos\w*"
    r"|soupcon\w*|blanchi\w*|listes?[\s-]+de[\s-]+surveillance|enquet\w*|politiquement[\s-]+vulnerables?"
    rf"|l\.?c\.?b[\s.-]*f\.?t|{_abbreviations('aml', 'fintrac', 'rcmp', 'ofac', 'pep', 'lba', 'canafe', 'grc', 'ppv')}"
    rf"|(?-i:{_abbreviations('STR', 'DOD')}|STRS|DODS)"
    r")(?![^\W\d_])",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[^\W\d_]+")
# Japanese is written in three.
_JAPANESE = {"HIRAGANA", "KATAKANA", "CJK"}
# Marks without a form of their own: the grapheme joiner, the Mongolian and the other variation selectors.
_INVISIBLE_MARKS = re.compile("[\u034f\u17b4\u17b5\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def forbidden_words(message: str) -> list[str]:
    """The words of a message that it may not have, as they were written but for accents; empty if it may be sent."""
    return list(dict.fromkeys(_FORBIDDEN.findall(_plain(message))))


def hidden_parts(message: str) -> list[str]:
    """What may hide a word: invisible characters by their code points, and words with letters of two scripts."""
    hidden = [
        f"U+{ord(one):04X}"
        for one in message.translate(dict.fromkeys(map(ord, "\r\n")))
        if unicodedata.category(one) in {"Cc", "Cf", "Cn", "Co", "Cs"} or one in FILLERS or _INVISIBLE_MARKS.match(one)
    ]
    hidden += [word for word in _WORDS.findall(_plain(message)) if len(set(_scripts(word))) > 1]
    return list(dict.fromkeys(hidden))


def _plain(message: str) -> str:
    # Compatibility forms, such as full-width letters, and characters that are not seen must not hide a word.
    decomposed = unicodedata.normalize("NFKD", message)
    return "".join(
        # Hyphens and dashes of every kind, and underscores, separate words.
        "-" if unicodedata.category(one) in {"Pd", "Pc"} or one == "\N{MINUS SIGN}" else one
        for one in decomposed
        if unicodedata.category(one) not in {"Mn", "Me", "Cf"}
    )


def _scripts(word: str) -> Iterator[str]:
    for letter in word:
        # A letter's name begins with its script's.
        script = unicodedata.name(letter, "").split(" ")[0].split("-")[0]
        if script != "MODIFIER":
            yield "JAPANESE" if script in _JAPANESE else script


DEFAULT_DUE_DAYS = 14


def open_requirement(
    *,
    user: User,
    code: str,
    fields: Collection[str] = (),
    message: str = "",
    due_in_days: int = DEFAULT_DUE_DAYS,
    by: Staff,
    source: str = "",
    expected_version: str | None = None,
) -> Requirement:
    """Ask the partner for something; the claim ends. fields: columns. message: for the partner, in English.

    source, expected_version: see compliance.Decision. Raises RefusedError, StaleError; nothing has changed then.
    """
    message = message.strip()
    check_message(message)
    with compliance.acting(user.pk, by=by, source=source, expected_version=expected_version) as locked:
        Claim.objects.filter(user=locked).delete()
        with refused_by_database(status=locked.status):
            requirement = Requirement.objects.create(
                user=locked,
                code=code,
                # The columns are kept in the order of the profile, each once.
                fields=[column for column in PROFILE_COLUMNS if column in fields],
                message=message,
                due_in_days=due_in_days,
                by=by,
            )
    requirement.refresh_from_db()
    user.refresh_from_db()
    return requirement


def may_be_asked(user: User) -> bool:
    """Whether a page offers to ask the partner something about this user. Triggers hold it, and a bound of all."""
    return user.status not in ENDED_STATUSES and user.open_requirements + user.answered_requirements < MAX_REQUIREMENTS


def close_requirement(
    *, requirement_id: UUID, by: Staff, note: str = "", source: str = "", expected_version: str | None = None
) -> RequirementClosure:
    """Close a requirement: it was answered to satisfaction, or is withdrawn. note: for staff.

    Raises RefusedError, StaleError, Requirement.DoesNotExist; nothing has changed then.
    """
    note = stripped(note, CLOSURE_NOTE_LENGTH, is_note=True)
    requirement = Requirement.objects.get(pk=requirement_id)
    acting = compliance.acting(requirement.user_id, by=by, source=source, expected_version=expected_version)
    with acting, refused_by_database():
        closure = RequirementClosure.objects.create(requirement=requirement, by=by, note=note)
    closure.refresh_from_db()
    return closure


def respond(*, requirement: Requirement, note: str) -> RequirementResponse:
    """Record a partner's note on a requirement of a locked user: it is submitted then. Raises RefusedError."""
    with transaction.atomic(), refused_by_database():
        return RequirementResponse.objects.create(requirement=requirement, note=note)


def update_user(*, user: StoredUser, profile: Profile, columns: AbstractSet[str]) -> UserSummary:
    """Store the profile of a locked user, unless it is the same. columns: that were sent; they answer requirements."""
    updated = queries.update(user, profile) if profile != user.profile else user.summary
    if not updated.has_requirements:
        return updated
    # Submitted is one whose fields were all sent, present values too; one without fields is answered by a note.
    for requirement in list(not_closed(updated.id).filter(state=RequirementState.OPEN)):
        if requirement.fields and columns >= set(requirement.fields):
            RequirementResponse.objects.create(requirement=requirement)
    return with_requirements(queries.reread(updated.id))


def with_requirements(user: UserSummary) -> UserSummary:
    """The user with its requirements that are not closed, oldest first."""
    return user._replace(requirements=list(not_closed(user.id)))


def not_closed(user_id: UUID | str) -> QuerySet[Any]:
    """The requirements of a user that are not closed with their states, oldest first."""
    return Requirement.objects.with_state().filter(user_id=user_id, closed_at=None).order_by("created_at", "id")


def not_closed_of_partner(partner: Partner, *, overdue: bool = False) -> QuerySet[Any]:
    """Those of all users of a partner, oldest first. overdue: only open ones whose answer was due before now."""
    found = Requirement.objects.with_state().filter(user__partner=partner, closed_at=None)
    if overdue:
        found = found.filter(state=RequirementState.OPEN, due_at__lt=timezone.now())
    return found.select_related("user").order_by("created_at", "id")


def check_message(message: str) -> None:
    """Raises RefusedError for a message that is too long, names a suspicion, or may hide a word."""
    if len(message) > MESSAGE_LENGTH:
        raise RefusedError(_("The message must be at most %(most)s characters.") % {"most": MESSAGE_LENGTH})
    if parts := hidden_parts(message):
        raise RefusedError(
            _("The message has invisible characters, or letters of two scripts in one word: leave out %(parts)s.")
            % {"parts": ", ".join(f"“{part}”" for part in parts)}
        )
    if words := forbidden_words(message):
        raise RefusedError(
            _("The partner must not learn of a suspicion: leave out %(words)s.")
            % {"words": ", ".join(f"“{word}”" for word in words)}
        )
