"""Who sent a request, and how the database is asked about them without a statement for it."""

from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError

from partners import sql
from partners.keys import Caller, PartnerRef

Found = TypeVar("Found")


class Sender:
    """Who signed a request: a caller as this process remembers them, until the database has said how they stand.

    A key that was revoked a moment ago is refused, whichever process revoked it. So nothing is answered, counted or
    committed before the database has said in this very request that the caller may call: with the request's own first
    statement, which finds nothing otherwise (keys.PARTNER), or, where it found nothing or there is none, when asked.
    """

    def __init__(self, caller: Caller, look_up: Callable[[], Caller], *, is_confirmed: bool) -> None:
        """look_up: asks the database. Raises UnauthorizedError. is_confirmed: whether it has been asked just now.

        Attribute `caller`: as remembered, where not confirmed.
        """
        self.caller = caller
        self.is_confirmed = is_confirmed
        self._look_up = look_up
        self._admit: Callable[[], object] = lambda: None

    def begin(self, admit: Callable[[], object]) -> None:
        """admit: what is done once it is known that the caller may call; may raise an ApiError."""
        self._admit = admit
        if self.is_confirmed:
            admit()

    def confirmed(self) -> Caller:
        """The caller, as the database has said in this request. Raises UnauthorizedError, and what `admit` raises."""
        if not self.is_confirmed:
            self.caller = self._look_up()
            self.vouched()
        return self.caller

    def confirmed_after(self, failure: Exception) -> bool:
        """Whether what failed may be done again: the connection was lost before the database had said anything.

        The caller is confirmed then, and where something else failed, so that the request is counted; not where the
        database is away. Raises as `confirmed`.
        """
        if self.is_confirmed or sql.is_answer_timeout(failure):
            return False
        driver = sql.default_connection().connection
        try:
            self.confirmed()
        except (OperationalError, InterfaceError):
            return False
        is_lost = sql.default_connection().connection is not driver
        return is_lost and isinstance(failure, (OperationalError, InterfaceError))

    def partner(self) -> PartnerRef:
        """What a statement takes for keys.PARTNER."""
        return PartnerRef(self.caller.partner_id) if self.is_confirmed else PartnerRef.remembered(self.caller)

    def vouched(self) -> None:
        """A statement with `partner()` has found something, so the caller may call. Raises what `admit` raises."""
        if not self.is_confirmed:
            sql.answered()
            self.is_confirmed = True
            self._admit()

    def ask(self, statement: Callable[[PartnerRef], Found]) -> Found:
        """What a reading statement finds for the partner; nothing only where nothing is there.

        statement: a statement with keys.PARTNER; what it gives is false where it found nothing. Raises as `confirmed`.
        """
        found = statement(self.partner())
        if found:
            self.vouched()
            return found
        if self.is_confirmed:
            return found
        self.confirmed()
        return statement(self.partner())
