"""Finds the ends of a process's TCP connections that do not speak TLS, from outside: by asking each for a handshake."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import psutil
from certificates import Certificates

HANDSHAKE_S = 10.0

End = tuple[str, int]


@dataclass
class Look:
    """Remembers which ends were seen, and what each answered: None if its handshake succeeded."""

    certificates: Certificates
    answers: dict[End, str | None] = field(default_factory=dict)

    def at(self, processes: Iterable[psutil.Process]) -> None:
        """Asks every end that was not seen before."""
        for process in processes:
            for end in server_ends(process):
                if end not in self.answers:
                    self.answers[end] = self._ask(end)

    @property
    def in_plain_text(self) -> dict[End, str]:
        return {end: answer for end, answer in self.answers.items() if answer is not None}

    def _ask(self, end: End) -> str | None:
        """Gives why there was no TLS handshake; None also for an end that is gone by now."""
        given = self.certificates
        context = ssl.create_default_context(cafile=str(given.authority))
        context.load_cert_chain(given.certificate, given.key)
        context.check_hostname = False  # a node has addresses that the certificate does not name
        context.set_alpn_protocols(["h2"])
        try:
            with socket.create_connection(end, timeout=HANDSHAKE_S) as plain, context.wrap_socket(plain):
                return None
        except ConnectionRefusedError:
            return None
        except OSError as error:
            return f"{type(error).__name__}: {error}"


def server_ends(process: psutil.Process) -> set[End]:
    """Gives the ends that were listened at: where the process listens, and the far ends of connections that it has made."""
    try:
        connections = process.net_connections(kind="tcp")
    except psutil.Error:  # it has just ended
        return set()
    listens = {one.laddr.port for one in connections if one.status == psutil.CONN_LISTEN}
    ends = {_reachable(one.laddr) for one in connections if one.status == psutil.CONN_LISTEN}
    made = (one for one in connections if one.status == psutil.CONN_ESTABLISHED and one.laddr.port not in listens)
    return ends | {_reachable(one.raddr) for one in made}


def _reachable(address: Any) -> End:
    host = address.ip.removeprefix("::ffff:")
    return ("127.0.0.1" if host in ("0.0.0.0", "::") else host, address.port)
