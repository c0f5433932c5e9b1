"""Documents in S3: against a server that speaks its protocol, and over connections that fail."""

import re
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import boto3
import pytest
from botocore.config import Config
from botocore.stub import Stubber
from django.core.files.storage import storages
from moto.server import ThreadedMotoServer
from pytest_django import Settings

from tests.support.client import PartnerClient, Response
from tests.support.documents import LONG, Faults, add_document, stored_at
from tests.support.responses import assert_error
from transactions.documents.downloads import CHUNK_BYTES, STORAGE, DocumentError
from transactions.documents.publishing import StorageError
from transactions.models import Document
from users.models import User

BUCKET = "documents-of-tests"
REGION = "ca-central-1"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """As ops give them: in AWS's own variables."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "tests")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "tests")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture(scope="module")
def client(endpoint: str) -> Iterator[Any]:
    """A client of the same server, apart from the service's."""
    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id="tests",
        aws_secret_access_key="tests",
        config=Config(retries={"total_max_attempts": 1}),
    )
    client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    yield client
    client.close()


@pytest.fixture
def s3(client: Any) -> Iterator[Any]:
    """The same, with an empty bucket."""
    yield client
    for one in client.list_objects_v2(Bucket=BUCKET).get("Contents", ()):
        client.delete_object(Bucket=BUCKET, Key=one["Key"])


@pytest.fixture
def use(settings: Settings) -> Iterator[Callable[[str], None]]:
    """Has the service keep its documents behind an endpoint."""

    def choose(endpoint: str) -> None:
        query = f"region={REGION}&endpoint={quote(endpoint, safe='')}&encryption=AES256"
        settings.STORAGES = stored_at(f"s3://{BUCKET}/psi/documents?{query}")

    yield choose
    storages[STORAGE].connection.meta.client.close()  # type: ignore[attr-defined]


@pytest.fixture
def ada(create_user: Callable[..., Response], s3: Any, use: Callable[[str], None], endpoint: str) -> User:
    use(endpoint)
    return User.objects.get(pk=create_user(externalId="ada").json()["userId"])


def url(document: Document) -> str:
    return f"/v1/users/ada/documents/{document.document_id}"


def keys(s3: Any) -> list[str]:
    return [one["Key"] for one in s3.list_objects_v2(Bucket=BUCKET).get("Contents", ())]


@pytest.mark.parametrize("content", [b"%PDF", LONG, LONG * 30], ids=["small", "pieces", "of several parts"])
def test_a_document_is_kept_in_the_bucket_and_comes_back(
    api: PartnerClient, ada: User, s3: Any, content: bytes
) -> None:
    made = add_document(ada, content)
    assert keys(s3) == [f"psi/documents/{made.storage_name}"]
    head = s3.head_object(Bucket=BUCKET, Key=keys(s3)[0])
    assert (head["ContentLength"], head["ServerSideEncryption"]) == (len(content), "AES256")
    response = api.get(url(made))
    assert (response.status, response.body == content) == (200, True)


def test_no_object_names_anybody_or_is_open_to_the_world(ada: User, s3: Any) -> None:
    made = add_document(ada, title="Of Ada Byron")
    (key,) = keys(s3)
    assert re.fullmatch(rf"psi/documents/{ada.partner_id}/[0-9a-f-]{{36}}", key)
    assert not any(number in key for number in (str(ada.pk), str(made.document_id)))
    grants = s3.get_object_acl(Bucket=BUCKET, Key=key)["Grants"]
    assert [grant["Grantee"]["Type"] for grant in grants] == ["CanonicalUser"]


def test_an_object_that_is_gone_is_counted(api: PartnerClient, ada: User, s3: Any, faults: Faults) -> None:
    made = add_document(ada)
    s3.delete_object(Bucket=BUCKET, Key=keys(s3)[0])
    assert assert_error(api.get(url(made)), 500)["error"] == "internal_error"
    assert faults() == {"missing": 1}


def test_an_object_that_was_replaced_is_not_sent(api: PartnerClient, ada: User, s3: Any, faults: Faults) -> None:
    made = add_document(ada, LONG)
    s3.put_object(Bucket=BUCKET, Key=keys(s3)[0], Body=LONG[:-1] + b"!")
    with pytest.raises(DocumentError):
        api.get(url(made))
    assert faults() == {"other bytes": 1}


def test_a_bucket_that_is_gone_is_worth_another_try(api: PartnerClient, ada: User, s3: Any) -> None:
    made = add_document(ada)
    s3.delete_object(Bucket=BUCKET, Key=keys(s3)[0])
    s3.delete_bucket(Bucket=BUCKET)
    response = api.get(url(made))
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    assert (assert_error(response, 503)["error"], response.header("Retry-After")) == ("internal_error", "2")


def test_a_server_that_is_away_is_worth_another_try(
    api: PartnerClient, ada: User, use: Callable[[str], None], faults: Faults
) -> None:
    made = add_document(ada)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        use(f"http://127.0.0.1:{nobody.getsockname()[1]}")
        assert assert_error(api.get(url(made)), 503)["error"] == "internal_error"
        assert faults() == {"storage failed": 1}
        with pytest.raises(StorageError):
            add_document(ada)
    assert Document.objects.count() == 1


class Cutter:
    """A way to a server that lets so many bytes of each response pass and then breaks off."""

    def __init__(self, endpoint: str, after: int) -> None:
        self._to = (urlsplit(endpoint).hostname, urlsplit(endpoint).port)
        self._after = after
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            with near, socket.create_connection(self._to) as far:
                far.sendall(near.recv(65536))
                passed = 0
                while passed < self._after and (piece := far.recv(min(65536, self._after - passed))):
                    near.sendall(piece)
                    passed += len(piece)

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(timeout=10)


@pytest.fixture
def cutter(endpoint: str) -> Iterator[Cutter]:
    running = Cutter(endpoint, 3 * CHUNK_BYTES)
    yield running
    running.close()


def test_a_connection_that_breaks_on_the_way_breaks_the_answer_off(
    api: PartnerClient, ada: User, use: Callable[[str], None], cutter: Cutter, faults: Faults
) -> None:
    made = add_document(ada, LONG)
    use(cutter.endpoint)
    with pytest.raises(DocumentError):
        api.get(url(made))
    assert faults() == {"storage failed": 1}


def test_a_full_bucket_is_said_to_be_full(ada: User) -> None:
    for code in ("QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded"):
        with Stubber(storages[STORAGE].connection.meta.client) as bucket:  # type: ignore[attr-defined]
            bucket.add_client_error("head_object", "404", http_status_code=404)
            bucket.add_client_error("put_object", code, http_status_code=507)
            bucket.add_response("delete_object", {})
            with pytest.raises(StorageError, match="The storage of documents is full"):
                add_document(ada)
            bucket.assert_no_pending_responses()
    assert not Document.objects.exists()
