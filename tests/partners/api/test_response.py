"""JsonResponse behaves like Django's HttpResponse."""

import pytest
from django.http import BadHeaderError, HttpResponse

from partners.api.response import JsonResponse

HEADERS = {"Content-Type": "application/json", "Content-Length": "2", "Location": "/v1/users/a"}


def test_it_has_the_attributes_of_django_s_response() -> None:
    django_s = HttpResponse(b"{}", status=201, headers=HEADERS)
    ours = JsonResponse(201, b"{}", {"Location": "/v1/users/a"})
    assert vars(ours).keys() == vars(django_s).keys()
    for name in vars(django_s).keys() - {"headers", "cookies"}:
        assert vars(ours)[name] == vars(django_s)[name], name
    assert type(ours.cookies) is type(django_s.cookies)
    assert vars(ours.headers).keys() == vars(django_s.headers).keys()
    assert dict(ours.headers._store) == dict(django_s.headers._store)
    assert (ours.serialize(), ours.content, ours.reason_phrase) == (
        django_s.serialize(),
        django_s.content,
        django_s.reason_phrase,
    )
    assert list(ours.items()) == list(django_s.items())
    assert ours.charset == django_s.charset


@pytest.mark.parametrize("value", ["a\nb", "a\rb"])
def test_no_header_holds_a_line_end(value: str) -> None:
    response = JsonResponse(200, b"{}")
    with pytest.raises(BadHeaderError):
        response["X"] = value
