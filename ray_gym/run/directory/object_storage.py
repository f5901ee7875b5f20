"""Keeps a run directory on an object store that `pyarrow.fs` opens.

Workers write only under `.staging/`. The driver makes a file part of the run by one server-side copy to its final key.
So the tokens never pass through the driver, and no other process writes under `episodes/`. A driver that takes a run
over first writes its epoch, and then deletes everything that is staged: an older driver that is still about to copy a
file finds nothing to copy.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from errno import ENOENT
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

import pyarrow as pa
from pyarrow.fs import FileSelector, FileSystem, FileType, S3FileSystem, resolve_s3_region

from ray_gym.errors import UserError
from ray_gym.run.directory.owner import EPOCH, ObjectOwner
from ray_gym.run.directory.parquet import write_rows
from ray_gym.run.directory.storage import EPISODES, STAGING, Storage

SCHEMES = ("s3", "gs", "gcs", "abfs", "abfss")
"""URI schemes of stores that show an object whole or not at all, and can copy one on the server. Only S3 is tested."""
S3_QUERY = ("region", "endpoint_override", "scheme")
"""Keys that the query of an S3 URI may have."""
CONNECT_S, REQUEST_S = 5.0, 30.0
"""Seconds that a connection to S3, and a request, may take."""


@dataclass(frozen=True)
class ObjectStorage(Storage):
    """Keeps a run directory on an object store."""

    @classmethod
    def of(cls, uri: str) -> ObjectStorage:
        """Opens the store of a URI, and returns its storage. Errors: UserError for an unknown scheme, no bucket, a
        password or (in an s3:// URI) a user's name in it, an S3 region that can't be found, or anything else that
        pyarrow refuses.
        """
        filesystem, root = _open(uri)
        return cls(uri, filesystem, root.rstrip("/"))

    def create(self) -> None:
        if self.exists():
            raise FileExistsError(self.location)

    def claim(self) -> ObjectOwner:
        return ObjectOwner.claim(self)

    def is_owned(self) -> bool:
        return ObjectOwner.has(self)

    def begin_epoch(self, epoch: int) -> ObjectStorage:
        self.delete_folder(STAGING)
        return replace(self, staging=f"{STAGING}/{epoch}")

    def read(self, name: str) -> bytes:
        # An object is looked for, then read: one that is deleted in between is an error of the store's own.
        try:
            return super().read(name)
        except FileNotFoundError:
            raise
        except OSError:
            if self._is_gone(name):
                raise FileNotFoundError(ENOENT, os.strerror(ENOENT), self.at(name)) from None
            raise

    def _is_gone(self, name: str) -> bool:
        try:
            return not self.exists(name)
        except OSError:  # the first error says more
            return False

    def write(self, name: str, data: bytes) -> None:
        with self.filesystem.open_output_stream(self.at(name)) as stream:
            stream.write(data)

    def stage(self, name: str, table: pa.Table) -> str:
        with self.filesystem.open_output_stream(self.at(f"{self.staging}/{name}")) as stream:
            write_rows(table, stream)
        return name

    def publish(self, staged: str, name: str) -> None:
        source = f"{self.staging}/{staged}"
        self.filesystem.copy_file(self.at(source), self.at(f"{EPISODES}/{name}"))
        with contextlib.suppress(OSError):  # the rows are in; what is left over goes when the run is closed
            self.delete(source)

    def delete(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.filesystem.delete_file(self.at(name))

    def delete_folder(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.filesystem.delete_dir(self.at(name))

    def remove(self) -> None:
        """Deletes the run. Its epochs are deleted last, so that no other driver may claim it before. Errors:
        OSError.
        """
        for found in self.filesystem.get_file_info(FileSelector(self.root, allow_not_found=True)):
            if found.type == FileType.Directory and found.base_name != EPOCH:
                self.delete_folder(found.base_name)
            elif found.type == FileType.File:
                self.delete(found.base_name)
        self.delete_folder("")


def s3_options(parts: SplitResult, environment: Mapping[str, str]) -> dict[str, Any]:
    """Returns the arguments of pyarrow's S3 filesystem for a bucket. `parts`: the URI, whose query has priority.
    `environment`: environment variables, of which the AWS_* variables count.

    Keys from these variables go to the workers with the storage. Without such variables every node uses its own profile
    or role. Errors: UserError for an unknown key in the query.
    """
    query = dict(parse_qsl(parts.query))
    if unknown := sorted(set(query) - set(S3_QUERY)):
        raise UserError(
            f"{parts.scheme}://{parts.netloc}{parts.path}: unknown {', '.join(unknown)}; known: {', '.join(S3_QUERY)}"
        )
    endpoint = (
        query.get("endpoint_override") or environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL")
    )
    scheme, _, host = (endpoint or "").rpartition("://")
    region = query.get("region") or environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    options = {
        "region": region or ("us-east-1" if endpoint else None),
        "endpoint_override": host.rstrip("/") or None,
        "scheme": query.get("scheme") or scheme or None,
        "access_key": environment.get("AWS_ACCESS_KEY_ID"),
        "secret_key": environment.get("AWS_SECRET_ACCESS_KEY"),
        "session_token": environment.get("AWS_SESSION_TOKEN"),
    }
    if not (options["access_key"] and options["secret_key"]):
        options = {key: value for key, value in options.items() if key in ("region", "endpoint_override", "scheme")}
    return {key: value for key, value in options.items() if value is not None}


def _open(uri: str) -> tuple[FileSystem, str]:
    parts = urlsplit(uri)
    if parts.scheme not in SCHEMES:
        raise UserError(f"{parts.scheme}:// is no object store that is known ({', '.join(SCHEMES)}); or give a path")
    if parts.password or (parts.username and parts.scheme == "s3"):
        raise UserError(
            f"{parts.scheme}://{parts.hostname}{parts.path} has a key in it, which would be kept in run.yaml; "
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile or a role instead"
        )
    if not parts.netloc:
        raise UserError(f"{uri} names no bucket; write {parts.scheme}://BUCKET/PREFIX")
    try:
        return _open_s3(parts) if parts.scheme == "s3" else FileSystem.from_uri(uri)
    except (ValueError, NotImplementedError) as error:
        raise UserError(f"{uri}: {error}") from None


def _open_s3(parts: SplitResult) -> tuple[FileSystem, str]:
    options = s3_options(parts, os.environ)
    if "region" not in options:
        try:
            options["region"] = resolve_s3_region(parts.netloc)
        except OSError as error:
            raise UserError(
                f"{parts.geturl()}: its region can't be looked up; set AWS_REGION, or add ?region=...: {error}"
            ) from None
    filesystem = S3FileSystem(
        **options,
        connect_timeout=CONNECT_S,
        request_timeout=REQUEST_S,
        allow_delayed_open=True,  # a small file is one PUT
    )
    return filesystem, f"{parts.netloc}{parts.path}"
