"""curl commands, parsed as curl itself sends them."""

import json

import pytest

from partners.signing.parsing import NotUnderstoodError, parse
from partners.signing.request import PastedRequest
from tests.partners.signing.cases import examine

URL = "https://partners.example/v1/users"
FORM = "application/x-www-form-urlencoded"


def sent(arguments: str) -> PastedRequest:
    return parse(f"curl {arguments}")


@pytest.mark.parametrize(
    ("arguments", "method"),
    [
        (URL, "GET"),
        (f"-X PATCH {URL}", "PATCH"),
        (f"-XPATCH {URL}", "PATCH"),
        (f"-sSXPATCH {URL}", "PATCH"),
        (f"--request PATCH {URL}", "PATCH"),
        (f"{URL} -X patch", "PATCH"),
        (f"{URL} -d x", "POST"),
        (f"{URL} -d ''", "POST"),
        (f"{URL} --json x", "POST"),
        (f"{URL} -G -d x", "GET"),
        (f"{URL} -I", "HEAD"),
        (f"{URL} -sI", "HEAD"),
        (f"{URL} --head", "HEAD"),
        (f"{URL} -d x -X PUT", "PUT"),
        (f"{URL} -G -d x -X POST", "POST"),
    ],
)
def test_the_method_is_given_or_follows_from_the_options(arguments: str, method: str) -> None:
    assert sent(arguments).method == method


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        ("-d a=b", "a=b"),
        ("-da=b", "a=b"),
        ("-sd a=b", "a=b"),
        ("-d a -d b", "a&b"),
        ("--data a --data-raw b --data-binary c --data-ascii d", "a&b&c&d"),
        ('-d \'{"a": 1,\n "b": 2}\'', '{"a": 1,\n "b": 2}'),
        ('-d "a\\b\\\nc"', "a\\bc"),
        ("-d it\\'s", "it's"),
        ("-d 'it'\\''s'", "it's"),
        ("-d a\\ b'c'\"d\"e", "a bcde"),
        ("--data-raw @not-a-file", "@not-a-file"),
        ("--data-urlencode 'a b/é'", "a+b%2F%C3%A9"),
        ("--data-urlencode '=a=b'", "a%3Db"),
        ("--data-urlencode 'n=a b&c'", "n=a+b%26c"),
        ("-d a --data-urlencode 'n=~é'", "a&n=~%C3%A9"),
        ("--json '{\"a\":' --json '1}'", '{"a":1}'),
        ("-d @file -d x", "&x"),
        ("-d ''", ""),
    ],
)
def test_the_body_is_the_sum_of_the_options(arguments: str, body: str) -> None:
    assert sent(f"{URL} {arguments}").body == body.encode()


@pytest.mark.parametrize(
    ("arguments", "target"),
    [
        (URL, "/v1/users"),
        (f"--url {URL}", "/v1/users"),
        (f"'{URL}?b=1&a=%2f'", "/v1/users?b=1&a=%2f"),
        (f"{URL}\\?a=1\\&b=2", "/v1/users?a=1&b=2"),
        ("partners.example/v1/users", "/v1/users"),
        ("localhost:8000/v1/ping", "/v1/ping"),
        ("https://partners.example", "/"),
        ("'https://partners.example?a=1'", "/?a=1"),
        ("http://ada:word@partners.example:8000/gw/v1/ping", "/gw/v1/ping"),
        (f"-G {URL} -d a=1 --data-urlencode 'b=é'", "/v1/users?a=1&b=%C3%A9"),
        (f"-G '{URL}?z=0' -d a=1", "/v1/users?z=0&a=1"),
        (f"{URL}#part", "/v1/users"),
        (f"-o /dev/null -w '%{{http_code}}' {URL}", "/v1/users"),
        (f"-u ada:word --max-time 5 -A agent -b c=d -k -L --compressed {URL}", "/v1/users"),
        (f"-sSo out.json {URL}", "/v1/users"),
        (f"--cacert /etc/v1/ca.pem {URL}", "/v1/users"),
        (f"-k {URL} | jq .", "/v1/users"),
        (f"{URL} 2>/dev/null > /v1/out", "/v1/users"),
        (f"{URL} && echo /v1/done", "/v1/users"),
        (f"\\\n  -s \\\r\n  {URL} \\\n", "/v1/users"),
        (f"-s\n  {URL}\n", "/v1/users"),
    ],
)
def test_the_target_is_that_of_the_first_url(arguments: str, target: str) -> None:
    assert sent(arguments).target == target


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ("-H 'A: b'", [("A", "b")]),
        ("-H 'A:b' -HC:d --header 'E:  f g '", [("A", "b"), ("C", "d"), ("E", "f g")]),
        ("-H 'B:' -H 'C: d:e'", [("C", "d:e")]),
        ("-d x", [("Content-Type", FORM)]),
        ("-d x -H 'content-type: application/json'", [("content-type", "application/json")]),
        ("-d x -H 'Content-Type:'", []),
        ("--json x", [("Content-Type", "application/json")]),
        ("--json x -H 'accept: */*'", [("accept", "*/*"), ("Content-Type", "application/json")]),
    ],
)
def test_headers_are_those_that_curl_sends(arguments: str, headers: list[tuple[str, str]]) -> None:
    assert list(sent(f"{URL} {arguments}").headers) == headers


@pytest.mark.parametrize("start", ["curl", " $ curl", "CURL.EXE", "\n\tcurl"])
def test_a_prompt_before_the_command_is_ignored(start: str) -> None:
    assert parse(f"{start} {URL}").target == "/v1/users"


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (f"{URL} -d @body.json", "file-not-read"),
        (f"{URL} -H @headers", "file-not-read"),
        (f"{URL} -F a=b", "form-not-read"),
        (f'{URL} -H "X-Api-Key: $KEY"', "variable-not-known"),
        (f"{URL} -d `cat body`", "variable-not-known"),
        (f'{URL} -d "$(cat body)"', "variable-not-known"),
        (f"{URL}?a=1&b=2", "url-cut"),
    ],
)
def test_values_that_the_command_does_not_show_are_findings(arguments: str, cause: str) -> None:
    assert cause in {finding["cause"] for finding in examine(f"curl {arguments}", None)["findings"]}


@pytest.mark.parametrize("arguments", [f"'{URL}?a=1&b=2'", f"{URL} -d '$KEY `x`'", f'{URL} -d "\\$KEY"', f"{URL} & "])
def test_quoted_text_is_no_finding(arguments: str) -> None:
    causes = {finding["cause"] for finding in examine(f"curl {arguments}", None)["findings"]}
    assert not causes & {"variable-not-known", "url-cut"}


@pytest.mark.parametrize(
    "arguments", [f"{URL} -d $'a=b'", f'^"{URL}^" ^\n -s', f"{URL} --next {URL}", f"{URL} -T file"]
)
def test_unsupported_quoting_and_options_are_refused_with_a_message(arguments: str) -> None:
    with pytest.raises(NotUnderstoodError, match="raw HTTP"):
        sent(arguments)


@pytest.mark.parametrize("arguments", ["", "-s", "'", f'{URL} -H "a', f"{URL} -H $'a: b\\nc: d'", f"$'{URL}\\xff'"])
def test_commands_that_curl_cannot_run_are_refused(arguments: str) -> None:
    with pytest.raises(NotUnderstoodError):
        sent(arguments)


def test_credentials_are_not_in_the_diagnosis() -> None:
    diagnosis = json.dumps(examine(f"curl -u ada:pass-word {URL.replace('//', '//bob:word-pass@')} -b c=cook-ie", None))
    assert not [word for word in ("pass-word", "word-pass", "cook-ie") if word in diagnosis]
