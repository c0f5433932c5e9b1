"""An S3 bucket, or a compatible one. Imported only if configured: boto3 takes a third of a second."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.core.files.base import File
from storages.backends.s3 import S3Storage
from urllib3.exceptions import HTTPError

CONNECT_SECONDS = 2
READ_SECONDS = 8
ATTEMPTS = 2
# A full bucket responds with one of these: Ceph's, and MinIO's for its disks and for a bucket's quota.
FULL_CODES = {"QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded"}


class BucketError(OSError):
    """The bucket failed or could not be reached. The text holds nothing of the request."""


@contextmanager
def _as_os_errors() -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if code in {"NoSuchKey", "404"}:
            raise FileNotFoundError("The bucket has no such file.") from error
        if code in FULL_CODES:
            raise BucketError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
        raise BucketError(f"The bucket answered {code or 'an error'}.") from error
    except (BotoCoreError, Boto3Error, HTTPError) as error:
        raise BucketError(f"The bucket could not be used: {type(error).__name__}.") from error


class _Body(File):  # type: ignore[type-arg]
    """A StreamingBody whose failures are OSErrors."""

    @_as_os_errors()
    def read(self, size: int = -1) -> bytes:
        body: Any = self.file
        return bytes(body.read(None if size < 0 else size))


class DocumentBucket(S3Storage):  # type: ignore[misc]  # django-storages has no types
    """Objects of one bucket, with AWS's own credentials; without an access list, which today's buckets refuse."""

    def get_default_settings(self) -> dict[str, Any]:
        """Short timeouts, few attempts, and no object is ever replaced."""
        defaults: dict[str, Any] = super().get_default_settings()
        return defaults | {
            "file_overwrite": False,
            "default_acl": None,
            "querystring_auth": True,
            "client_config": Config(
                connect_timeout=CONNECT_SECONDS,
                read_timeout=READ_SECONDS,
                retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
                # Not every compatible service has them, and the SHA-256 is verified anyway.
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
            ),
        }

    @_as_os_errors()
    def _open(self, name: str, mode: str = "rb") -> Any:
        # django-storages would fetch the whole file before the first byte.
        answer = self.connection.meta.client.get_object(Bucket=self.bucket_name, Key=self._normalize_name(name))
        return _Body(answer["Body"])

    _save = _as_os_errors()(S3Storage._save)  # noqa: SLF001 - Django's storages override it
    exists = _as_os_errors()(S3Storage.exists)
    delete = _as_os_errors()(S3Storage.delete)
