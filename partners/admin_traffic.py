"""How the back office shows what a partner's requests were answered, and how far its clock is from ours."""

from collections.abc import Callable, Iterator
from typing import Any

from django.utils.translation import gettext_lazy as _

from partners import spans, tallies, traffic
from partners.admin_sections import Table
from partners.models import Partner
from partners.traffic import Clock, Traffic


def traffic_table(partner: Partner) -> Table:
    """Requests by status and the difference of clocks, of a day and of a week."""
    periods = (tallies.DAY, tallies.WEEK)
    of_periods = [traffic.of_partner(partner.pk, period=period) for period in periods]
    clocks = [traffic.clocks(partner.pk, period=period).get("") for period in periods]
    return Table(
        title=_("Requests"),
        headings=(_("status"), _("last 24 hours"), _("last 7 days")),
        rows=[*_requests(of_periods), *_clocks(clocks)] if of_periods[-1].total else [],
        note=_("Of whole hours, so up to one more. Requests of an unknown sender are not among them."),
        empty=_("No request with one of this partner's keys was counted."),
    )


def _requests(of_periods: list[Traffic]) -> Iterator[tuple[Any, ...]]:
    for status in sorted({status for one in of_periods for status in one.by_status}):
        yield str(status), *(one.by_status.get(status, 0) for one in of_periods)
    yield _("all"), *(one.total for one in of_periods)
    yield _("of these answered from memory"), *(one.replayed for one in of_periods)


def _clocks(clocks: list[Clock | None]) -> Iterator[tuple[Any, ...]]:
    def told(seconds: Callable[[Clock], float]) -> list[str]:
        return ["–" if clock is None else spans.difference(seconds(clock)) for clock in clocks]

    yield _("their clock, median"), *told(lambda clock: clock.median_seconds)
    yield _("their clock, worst"), *told(lambda clock: clock.worst_seconds)
