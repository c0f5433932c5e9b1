"""What every rule raises that says no."""


class RefusedError(Exception):
    """A rule does not allow it, and nothing has changed. Its text says why, for people.

    The API responds with 409 `conflict` (partners/api/errors.py), a command ends with the text as its error
    (core/management/base.py), and the back office shows it with the form. A subclass exists where a caller handles
    one refusal in another way. A value that is wrong whatever the state is a ValidationError, by its field.
    """
