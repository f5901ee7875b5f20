"""A local double of the Hugging Face hub: the part of its HTTP API by which data sets are made, written and read.

It is no hub: it checks no rights beyond the token's presence, keeps files in memory, and takes large files by Git LFS
only, where the hub prefers Xet.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

COMMIT = "a" * 40


@dataclass
class Hub:
    """Holds what was sent."""

    url: str = ""
    private: dict[str, bool] = field(default_factory=dict)
    """Data sets, by name, with whether they are private."""
    files: dict[tuple[str, str], bytes] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    tokens: set[str | None] = field(default_factory=set)
    """Values of the header Authorization of requests about data sets."""
    refuses: int = 0
    """Status with which each request is answered; 0 for none."""


@contextmanager
def running() -> Iterator[Hub]:
    hub = Hub()
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(hub)) as server:
        hub.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield hub
        server.shutdown()


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body, path = self._body(), self.path.partition("?")[0]
            if path == "/api/repos/create":
                asked = json.loads(body)
                name = f"{asked.get('organization') or 'me'}/{asked['name']}"
                private = asked.get("private") or asked.get("visibility") == "private"
                if name in hub.private:
                    return self._json({"error": "it exists", "url": f"{hub.url}/datasets/{name}"}, 409)
                hub.private[name] = bool(private)
                self._json({"url": f"{hub.url}/datasets/{name}", "name": name, "id": name})
            elif path.endswith("/preupload/main"):
                files = [{"path": one["path"], "uploadMode": "lfs"} for one in json.loads(body)["files"]]
                self._json({"files": [{**one, "shouldIgnore": False} for one in files]})
            elif path.endswith("/info/lfs/objects/batch"):
                objects = [
                    {**one, "actions": {"upload": {"href": f"{hub.url}/lfs/{one['oid']}"}}}
                    for one in json.loads(body)["objects"]
                ]
                self._json({"transfer": "basic", "objects": objects})
            elif found := re.fullmatch(r"/api/datasets/(.+)/commit/main", path):
                for line in map(json.loads, body.splitlines()):
                    if line["key"] == "lfsFile":
                        hub.files[found[1], line["value"]["path"]] = hub.blobs[line["value"]["oid"]]
                self._json({"commitOid": COMMIT, "commitUrl": f"{hub.url}/datasets/{found[1]}/commit/{COMMIT}"})
            elif found := re.fullmatch(r"/api/datasets/(.+)/paths-info/[^/]+", path):
                wanted = parse_qs(body.decode())["paths"] if b"=" in body else json.loads(body)["paths"]
                self._json([one for one in self._tree(found[1]) if one["path"] in wanted])
            else:
                self._json({"error": f"no such route: {path}"}, 404)

        def do_PUT(self) -> None:
            body, oid = self._body(), self.path.rpartition("/")[2]
            assert hashlib.sha256(body).hexdigest() == oid
            hub.blobs[oid] = body
            self._json({})

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if found := re.fullmatch(r"/datasets/(.+)/resolve/[^/]+/(.+)", path):
                return self._file(hub.files.get((found[1], found[2])))
            if path == "/api/whoami-v2":
                return self._json({"type": "user", "name": "me"})
            found = re.fullmatch(r"/api/datasets/([^/]+/[^/]+)(/.*)?", path)
            if found is None or found[1] not in hub.private:
                return self._json({"error": "Repository Not Found"}, 404, **{"X-Error-Code": "RepoNotFound"})
            if (found[2] or "").startswith("/tree/"):
                under = "".join(found[2].split("/", 3)[3:])
                return self._json([one for one in self._tree(found[1]) if one["path"].startswith(under)])
            files = [{"rfilename": name} for repo, name in hub.files if repo == found[1]]
            self._json({"id": found[1], "private": hub.private[found[1]], "sha": COMMIT, "siblings": files})

        do_HEAD = do_GET

        def _tree(self, repo: str) -> list[dict[str, Any]]:
            """Returns the folders and files of a data set, as the hub lists them."""
            files = {path: data for (of, path), data in hub.files.items() if of == repo}
            folders = {path.rpartition("/")[0] for path in files} - {""}
            return [
                *({"type": "directory", "path": path, "size": 0, "oid": COMMIT} for path in folders),
                *({"type": "file", "path": path, "size": len(data), "oid": COMMIT} for path, data in files.items()),
            ]

        def _file(self, data: bytes | None) -> None:
            if data is None:
                return self._json({"error": "Entry not found"}, 404, **{"X-Error-Code": "EntryNotFound"})
            self._answer(200, data, **{"ETag": f'"{hashlib.sha256(data).hexdigest()}"', "X-Repo-Commit": COMMIT})

        def _body(self) -> bytes:
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))

        def _json(self, data: Any, status: int = 200, **headers: str) -> None:
            self._answer(status, json.dumps(data).encode(), **{"Content-Type": "application/json", **headers})

        def _answer(self, status: int, data: bytes, **headers: str) -> None:
            if re.match(r"/(api/)?(datasets|repos)/", self.path):
                hub.tokens.add(self.headers.get("Authorization"))
            self.send_response(hub.refuses or status)
            for name, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def log_message(self, format: str, *arguments: object) -> None:
            """Prints nothing."""

    return Handler
