"""The database's function about postal codes."""

from core.database import statements


def postal_code_fits(country: str, province: str, postal_code: str) -> bool:
    """Whether no risk flag says that the postal code is not the province's."""
    row = statements.fetch_one("SELECT users_postal_code_fits(%s, %s, %s)", (country, province, postal_code))
    assert row is not None
    return bool(row[0])
