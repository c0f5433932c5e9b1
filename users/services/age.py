"""Ages, and when somebody is of age: contract, section 2."""

import calendar
from datetime import date

ADULT_YEARS = 18


def age_in_years(born: date, *, on: date) -> int:
    """How old somebody is on a day; of those born on 29 February, the birthday is 1 March of a common year."""
    return on.year - born.year - ((on.month, on.day) < (born.month, born.day))


def adult_on(*, born: date) -> date:
    """The 18th birthday; of those born on 29 February, 1 March of a common year."""
    year = born.year + ADULT_YEARS
    if (born.month, born.day) == (2, 29) and not calendar.isleap(year):
        return date(year, 3, 1)
    return born.replace(year=year)


def is_adult(*, born: date, on: date) -> bool:
    """Whether somebody is 18 or older on a day."""
    return adult_on(born=born) <= on
