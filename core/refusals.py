"""What every rule raises that says no."""


class RefusedError(Exception):
    """A rule does not allow it, and nothing has changed: 409 `conflict`. Its text says why, for people.

    A subclass exists where a caller tells one refusal from others. A value that is always wrong is a ValidationError.
    """
