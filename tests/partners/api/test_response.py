"""JsonResponse behaves like Django's HttpResponse."""

import pytest
from django.http import BadHeaderError, HttpResponse

from partners.api.response import JsonResponse, PlainHeaders

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


def test_it_can_be_written_to_like_django_s(db: None) -> None:
    response = JsonResponse(200, b"{}")
    response["X-Request-Id"] = "a"
    response.set_cookie("name", "value")
    response.content = b"[]"
    response.close()
    assert (response["x-request-id"], response.content, response.closed) == ("a", b"[]", True)
    assert response.cookies["name"].value == "value"
    del response["X-Request-Id"]
    assert not response.has_header("X-Request-Id")


@pytest.mark.parametrize("value", ["a\nb", "a\rb"])
def test_no_header_holds_a_line_end(value: str) -> None:
    response = JsonResponse(200, b"{}")
    with pytest.raises(BadHeaderError):
        response["X"] = value


def test_names_of_headers_are_compared_without_case() -> None:
    headers = PlainHeaders({"Content-Type": "a"})
    headers["content-type"] = "b"
    assert (len(headers), headers["CONTENT-TYPE"]) == (1, "b")
