"""Requirements by staff: contract, section 13. The database holds what the services refuse with a text."""

import re
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connections, transaction
from django.utils import timezone

from core.models import AuditEntry
from core.refusals import RefusedError
from events.models import OutboxEntry
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.support.approval_rules import no_rules_left, reviewer, set_rule, superuser
from tests.support.commands import outcome, printed, refusal
from tests.support.plans import planning_without
from users import claims, requirements
from users.decisions import compliance, proposals
from users.models import Requirement, RequirementClosure, RequirementResponse, User
from users.requirements import check_message, forbidden_words

APPROVED: dict[str, Any] = {"reason": "Papers seen."}


@pytest.fixture
def user(db: None) -> User:
    user: User = factories.UserFactory.create()
    return user


@pytest.fixture
def staff(db: None) -> Staff:
    staff: Staff = factories.StaffFactory.create()
    return staff


def ask(user: User, staff: Staff, **values: Any) -> Requirement:
    return requirements.open_requirement(user=user, by=staff, **{"code": "addressUnclear", "fields": ["city"]} | values)


def answer(requirement: Requirement) -> None:
    RequirementResponse.objects.create(requirement=requirement, note="An answer.")


# The user's columns


def columns(user: User) -> tuple[int, int]:
    user.refresh_from_db()
    return user.open_requirements, user.answered_requirements


def test_the_numbers_follow_the_requirements(user: User, staff: Staff) -> None:
    assert columns(user) == (0, 0)
    first, second = ask(user, staff), ask(user, staff)
    assert columns(user) == (2, 0)
    answer(first)
    assert columns(user) == (1, 1)
    answer(second)
    assert columns(user) == (0, 2)
    assert user.is_answered
    requirements.close_requirement(requirement_id=first.pk, by=staff)
    assert columns(user) == (0, 1)
    requirements.close_requirement(requirement_id=second.pk, by=staff)
    assert columns(user) == (0, 0)


def test_the_earliest_open_one_is_due(user: User, staff: Staff) -> None:
    late, early = ask(user, staff, due_in_days=30), ask(user, staff, due_in_days=7)
    user.refresh_from_db()
    assert user.requirements_due_at == early.due_at == early.created_at + timedelta(days=7)
    answer(early)
    user.refresh_from_db()
    assert user.requirements_due_at == late.due_at
    answer(late)
    user.refresh_from_db()
    assert user.requirements_due_at is None


def waiting_since(user: User) -> datetime | None:
    user.refresh_from_db()
    return user.waiting_since


def test_a_case_waits_from_its_creation_or_the_answer_on(user: User, staff: Staff) -> None:
    assert waiting_since(user) == user.created_at
    first, second = ask(user, staff), ask(user, staff)
    assert waiting_since(user) is None
    answer(first)
    assert waiting_since(user) is None
    answer(second)
    answered = RequirementResponse.objects.latest("id").created_at
    assert waiting_since(user) == user.answered_at == answered
    # A second answer, and reading it, do not put the case behind others.
    answer(first)
    assert waiting_since(user) == answered
    assert user.answered_at
    assert user.answered_at > answered
    for requirement in (first, second):
        requirements.close_requirement(requirement_id=requirement.pk, by=staff)
    assert waiting_since(user) == answered
    change = compliance.decide(compliance.Decision(user=user, to_status="active", by=staff, **APPROVED))
    change.refresh_from_db()
    assert change.waiting_since == answered
    assert waiting_since(user) is None


def test_a_case_waits_from_where_it_did_if_the_question_is_withdrawn(user: User, staff: Staff) -> None:
    requirements.close_requirement(requirement_id=ask(user, staff).pk, by=staff)
    assert waiting_since(user) == user.created_at


def test_a_reopened_case_waits_from_then_on(user: User, staff: Staff) -> None:
    ask(user, staff)
    rejected = compliance.decide(compliance.Decision(user=user, to_status="rejected", by=staff, **APPROVED))
    rejected.refresh_from_db()
    # It waited for the partner.
    assert rejected.waiting_since is waiting_since(user) is None
    compliance.decide(compliance.Decision(user=user, to_status="pendingCompliance", by=staff, **APPROVED))
    assert waiting_since(user) == user.status_since


def test_an_answer_waits_in_every_status(user: User, staff: Staff) -> None:
    compliance.decide(compliance.Decision(user=user, to_status="active", by=staff, **APPROVED))
    requirement = ask(user, staff)
    answer(requirement)
    assert waiting_since(user) == user.answered_at
    compliance.decide(compliance.Decision(user=user, to_status="suspended", by=staff, **APPROVED))
    assert waiting_since(user) == user.answered_at
    requirements.close_requirement(requirement_id=requirement.pk, by=staff)
    assert waiting_since(user) is None


def test_the_profile_history_has_no_row_of_requirements(user: User, staff: Staff) -> None:
    before = user.updated_at
    requirement = ask(user, staff)
    answer(requirement)
    requirements.close_requirement(requirement_id=requirement.pk, by=staff)
    user.refresh_from_db()
    assert user.updated_at == before
    assert user.events.count() == 1


# Rules of the services


def test_the_next_case_has_waited_longest_and_never_waits_for_the_partner(staff: Staff) -> None:
    answered, waiting, asked = factories.UserFactory.create_batch(3)
    answer(ask(answered, staff))
    ask(asked, staff)
    for expected in (waiting, answered):
        found = claims.next_case(staff=staff)
        assert found == expected
        claims.release(user=expected, staff=staff)
        claims.claim(user=expected, staff=factories.StaffFactory.create())
    assert claims.next_case(staff=staff) is None


def test_a_requirement_is_refused_with_a_text(user: User, staff: Staff) -> None:
    for message, text in (
        ("x" * 501, "at most 500 characters"),
        ("On a Watch-List.", "must not learn of a suspicion: leave out “Watch-List”."),
    ):
        with pytest.raises(RefusedError, match=text):
            ask(user, staff, message=message)
    assert not Requirement.objects.exists()
    assert not OutboxEntry.objects.exists()


def test_who_may_not_decide_may_not_ask_or_close(user: User, staff: Staff) -> None:
    viewer = factories.StaffFactory.create(role="viewer")
    requirement = ask(user, staff)
    for refused in (
        lambda: ask(user, viewer),
        lambda: requirements.close_requirement(requirement_id=requirement.pk, by=viewer),
    ):
        with pytest.raises(RefusedError, match="may not decide"):
            refused()


def test_the_audit_log_has_who_asked_and_closed(user: User, staff: Staff) -> None:
    requirement = ask(user, staff, message="Which street?")
    requirements.close_requirement(requirement_id=requirement.pk, by=staff, note="Clear now.")
    opened, closed = AuditEntry.objects.filter(action__startswith="requirement.").order_by("id")
    assert (opened.actor, opened.object) == (closed.actor, closed.object) == (staff.username, str(user.pk))
    assert opened.detail["code"] == "addressUnclear"
    assert closed.detail["note"] == "Clear now."


def test_a_decision_names_itself_in_what_it_closes(user: User, staff: Staff) -> None:
    ask(user, staff)
    change = compliance.decide(compliance.Decision(user=user, to_status="rejected", by=staff, **APPROVED))
    closure = RequirementClosure.objects.get()
    assert (closure.decision, closure.by) == (change, staff)


# Two people


def test_opening_a_requirement_does_not_overtake_a_proposal(committed_partner: Partner) -> None:
    with no_rules_left():
        set_rule("always")
        first, second = reviewer(), reviewer()
        user = factories.UserFactory.create(partner=committed_partner, external_id=f"asked-{uuid.uuid4()}")
        proposal = proposals.propose(compliance.Decision(user=user, to_status="active", by=first, **APPROVED))
        requirement = ask(user, first)
        with pytest.raises(RefusedError, match="1 requirement is open"):
            proposals.approve(proposal_id=proposal.pk, by=second)
        answer(requirement)
        proposals.approve(proposal_id=proposal.pk, by=second)
        user.refresh_from_db()
        assert (user.status, columns(user)) == ("active", (0, 0))


# Wording


TIP_OFFS = [
    *("You are on a sanction list", "SANCTIONED", "sanctions", "Fraud.", "fraudulent", "frauds", "a suspicion"),
    *("suspicious", "suspiciously", "we suspect", "suspected", "suspects", "money-laundering", "launder"),
    *("terrorist", "terrorism", "terrorists", "FINTRAC", "fintrac's", "an STR was sent", "STRs", "S.T.R."),
    *("watch list", "watchlist", "watch-lists", "watch  list", "watch\nlist", "watchlisted"),
    *("soupçon", "soupcon", "soupc\u0327on", "soupçonné", "suspectes", "fraude", "fraudes", "blanchiment"),
    *("terroriste", "CANAFE", "liste de surveillance", "listes de surveillance", "liste de\nsurveillance"),
    *("AML", "aml checks", "A.M.L.", "under investigation", "investigated", "the police", "policing", "RCMP"),
    *("OFAC", "a PEP", "peps", "politically exposed", "LBA", "LCB-FT", "LCB FT", "DOD", "enquête", "enquêteur"),
    *("GRC", "PPV", "politiquement vulnérable"),
    # What separates words.
    *("_fraud_", "watch_list", "watch\u2011list", "liste\u2013de\u2014surveillance", "LCB\u2010FT", "it is\nfraud"),
    # What hides a word from a plain comparison.
    *("po\u20ddlice", "f\u20e3raud", "2FRAUD", "FRAUD2"),
    *("fr\u200baud", "fr\u00adaud", "ｆｒａｕｄ", "frau\u0301d"),
]


def test_words_that_tip_off_are_found() -> None:
    assert [one for one in TIP_OFFS if not forbidden_words(one)] == []
    assert [one for one in TIP_OFFS if not forbidden_words(f"We ask because of {one} here.")] == []


def test_other_words_are_not() -> None:
    innocent = [
        *("The postal code is not in the province.", "King Street", "Strong", "strategy", "restrict", "a list"),
        *("12 Main str.", "str", "dod", "the policy", "policies", "a pepper", "enquire", "exposed brick"),
        *("Unit 5, 12 King Street", "A1A 1A1", "2026-11-26", "$1,000", "Send both!", "ada@example.com", "100 %"),
        *("Surveillance cameras", "watch the list of papers", "blanc", "defrayed", "canaféte", "terrain"),
    ]
    assert {one: found for one in innocent if (found := forbidden_words(one))} == {}


@pytest.mark.parametrize(
    ("message", "part"),
    [
        ("We found fr\u0430ud.", "fr\u0430ud"),
        ("\u0421ANAFE", "\u0421ANAFE"),
        ("su\u0455pect", "su\u0455pect"),
        ("na\u200bme", "U+200B"),
        ("Hello\u3164", "U+3164"),
        ("na\ufe0fme", "U+FE0F"),
        ("na\U000e0100me", "U+E0100"),
    ],
)
def test_what_may_hide_a_word_is_refused_by_name(message: str, part: str) -> None:
    with pytest.raises(RefusedError, match=re.escape(f"leave out “{part}”")):
        check_message(message)


def test_letters_of_other_scripts_are_not() -> None:
    for message in ("山田 はなこさん", "Ελένη, Ada", "Zoë O’Brien", "Two lines:\nhere.", "№ 5"):
        check_message(message)


# The serving role in SQL


def refused_in_sql(statement: str, **values: Any) -> str:
    with pytest.raises(DatabaseError) as refused, transaction.atomic(), connections["default"].cursor() as cursor:
        cursor.execute(statement, values)
    return str(refused.value)


ASK = """
    INSERT INTO users_requirement (id, user_id, code, fields, due_in_days, by_id)
    VALUES (gen_random_uuid(), %(user)s, 'other', '{}', 14, %(by)s)
"""
DECIDE = """
    INSERT INTO users_statuschange (user_id, from_status, to_status, by_id, reason)
    SELECT id, status, 'active', %(by)s, 'As ever.' FROM users_user WHERE id = %(user)s
"""


RESPOND = "INSERT INTO users_requirementresponse (requirement_id, note) VALUES (%(requirement)s, 'x')"
CLOSE = "INSERT INTO users_requirementclosure (requirement_id, by_id) VALUES (%(requirement)s, %(by)s)"
# By the state of the user's requirement.
REFUSED = {
    "open": {
        DECIDE: "open requirement does not become active",
        ASK.replace("'{}'", "'{town}'"): "requirement_fields_of_profile",
        ASK.replace("14", "91"): "requirement_due_in_days",
        ASK.replace("14", "0"): "requirement_due_in_days",
        ASK.replace("'other'", "'none'"): "requirement_code_known",
        "UPDATE users_requirement SET message = 'x'": "permission denied",
        "DELETE FROM users_requirement": "permission denied",
        "TRUNCATE users_requirement CASCADE": "permission denied",
        "UPDATE users_user SET open_requirements = 0, answered_requirements = 0": "permission denied",
        "UPDATE users_user SET status_reason_code = 'verified'": "permission denied",
    },
    "closed": {
        RESPOND: "closed",
        CLOSE: "duplicate key",
        "DELETE FROM users_requirementclosure": "permission denied",
    },
    "of a rejected user": {ASK: "rejected or closed"},
}


def test_no_statement_of_the_serving_role_gets_around_it(user: User, staff: Staff, subtests: pytest.Subtests) -> None:
    one = ask(user, staff)
    for state, statements in REFUSED.items():
        if state == "closed":
            requirements.close_requirement(requirement_id=one.pk, by=staff)
        elif state == "of a rejected user":
            compliance.decide(compliance.Decision(user=user, to_status="rejected", by=staff, **APPROVED))
        for statement, text in statements.items():
            with subtests.test(f"{state}: {statement}"):
                assert text in refused_in_sql(statement, user=user.pk, by=staff.pk, requirement=one.pk)


# Commands


def test_the_commands_of_ops(user: User, staff: Staff) -> None:
    slug, external_id = user.partner.slug, user.external_id
    asked = outcome(
        *("request_information", slug, external_id, "--code", "addressUnclear", "--field", "postalCode"),
        *("--field", "addressLine1", "--message", "Which street?", "--due-in-days", "7", "--by", staff.username),
    )
    requirement = Requirement.objects.get()
    assert asked == {"requirementId": str(requirement.pk), "dueAt": f"{requirement.due_at:%Y-%m-%dT%H:%M:%S.%f}Z"}
    assert requirement.fields == ["address_line1", "postal_code"]
    assert outcome("list_requirements", slug) == {
        "requirements": [
            {
                "requirementId": str(requirement.pk),
                "externalId": external_id,
                "code": "addressUnclear",
                "state": "open",
                "dueAt": asked["dueAt"],
                "daysLeft": 6,
            }
        ]
    }
    assert "1 requirement is open" in refusal(
        "change_user_status", slug, external_id, "active", "--reason", "x", "--by", staff.username
    )
    answer(requirement)
    assert "submitted" in printed("list_requirements", slug)
    assert outcome("list_requirements", slug, "--overdue") == {"requirements": []}
    closed = ("close_requirement", str(requirement.pk), "--by", staff.username, "--note", "Clear now.")
    assert outcome(*closed) == {"requirementId": str(requirement.pk)}
    assert refusal(*closed) == "This requirement is closed already."
    assert printed("list_requirements", slug) == "None.\n"
    assert "not found" in refusal("close_requirement", str(uuid.uuid4()), "--by", staff.username)


def test_a_request_is_refused_in_one_line(user: User, staff: Staff) -> None:
    command = ("request_information", user.partner.slug, user.external_id, "--code", "other")
    by = ("--by", staff.username)
    assert "must not learn of a suspicion" in refusal(*command, *by, "--message", "We suspect fraud.")
    assert "nobody" in refusal(*command, "--by", "nobody")
    assert not Requirement.objects.exists()


def test_overdue_ones_are_listed_apart(user: User, staff: Staff, make_later: Callable[[timedelta], None]) -> None:
    overdue, later = ask(user, staff, due_in_days=1), ask(user, staff, due_in_days=3)
    make_later(timedelta(days=2))
    [listed] = outcome("list_requirements", user.partner.slug, "--overdue")["requirements"]
    assert (listed["requirementId"], listed["daysLeft"]) == (str(overdue.pk), -2)
    both = outcome("list_requirements", user.partner.slug)["requirements"]
    assert [one["requirementId"] for one in both] == [str(overdue.pk), str(later.pk)]


@pytest.fixture
def make_later(monkeypatch: pytest.MonkeyPatch) -> Callable[[timedelta], None]:
    """Have Python's clock be ahead."""

    def move(ahead: timedelta) -> None:
        now = timezone.now
        monkeypatch.setattr(timezone, "now", lambda: now() + ahead)

    return move


def test_a_list_of_a_partner_reads_only_users_with_requirements(user: User) -> None:
    with planning_without("seqscan", "bitmapscan"):
        assert "requirement_not_closed" in requirements.not_closed_of_partner(user.partner).explain()


def test_a_user_has_ten_requirements_at_most_that_are_not_closed_and_a_thousand_in_all(
    committed_partner: Partner,
) -> None:
    user, staff = factories.UserFactory.create(partner=committed_partner), reviewer()
    with superuser() as database:
        database.execute(
            "INSERT INTO users_requirement (id, user_id, code, fields, due_in_days, by_id, closed_at)"
            " SELECT gen_random_uuid(), %s, 'other', '{}', 14, %s, now() FROM generate_series(1, 990)",
            (user.pk, staff.pk),
        )
    asked = [ask(user, staff) for _ in range(10)]
    assert "at most 10 requirements" in refused_in_sql(ASK, user=user.pk, by=staff.pk)
    requirements.close_requirement(requirement_id=asked[0].pk, by=staff)
    with pytest.raises(RefusedError, match="1000 requirements"):
        ask(user, staff)
    assert "1000 requirements" in refused_in_sql(ASK, user=user.pk, by=staff.pk)


def test_a_requirement_has_a_hundred_answers_at_most(user: User, staff: Staff) -> None:
    one = ask(user, staff)
    note = "INSERT INTO users_requirementresponse (requirement_id, note) SELECT %(one)s, 'x'"
    with connections["default"].cursor() as cursor:
        cursor.execute(f"{note} FROM generate_series(1, 99)", {"one": one.pk})
    requirements.respond(requirement=one, note="The last.")
    with pytest.raises(RefusedError, match="100 answers"):
        requirements.respond(requirement=one, note="One more.")
    assert "100 answers" in refused_in_sql(note, one=one.pk)


def rows_read(act: Callable[[], object]) -> int:
    """The rows of closures and answers that this transaction reads in `act`, by triggers too."""
    query = """
        SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_scan, 0)) FROM pg_stat_xact_user_tables
         WHERE relname IN ('users_requirementclosure', 'users_requirementresponse')
    """
    with connections["default"].cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(query)
        before = cursor.fetchone()[0]
        act()
        cursor.execute(query)
        return int(cursor.fetchone()[0] - before)


def close_in_sql(user: User, staff: Staff, count: int) -> None:
    """Open and close so many, ten at a time."""
    opened = ASK.replace("VALUES (", "SELECT ").rstrip().rstrip(")") + " FROM generate_series(1, 10)"
    closed = """
        INSERT INTO users_requirementclosure (requirement_id, by_id)
        SELECT id, %(by)s FROM users_requirement WHERE user_id = %(user)s AND closed_at IS NULL
    """
    with connections["default"].cursor() as cursor:
        for _ in range(count // 10):
            cursor.execute(opened, {"user": user.pk, "by": staff.pk})
            cursor.execute(closed, {"user": user.pk, "by": staff.pk})


def test_a_user_s_past_costs_nothing(user: User, staff: Staff) -> None:
    def work() -> None:
        one = ask(user, staff)
        answer(one)
        requirements.close_requirement(requirement_id=one.pk, by=staff)

    work()
    first = rows_read(work)
    close_in_sql(user, staff, 20)
    assert rows_read(work) == first
