"""Sockets to one address: names looked up, addresses tried in turn, TLS, and closed again."""

import contextlib
import errno
import os
import selectors
import socket
import ssl
from collections.abc import Callable
from typing import Any

from stackchoice.load.wire import Address, Connection, Problem

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
_OUR_FAULT = {errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL, errno.ENOBUFS, errno.ENOMEM}


class Sockets:
    """Opens and closes what connections to one address speak through.

    Parameters
    ----------
    address, selector
        Where to, and what tells when a socket is ready.
    ready, failed
        Called with a connection that may be written to, and with one that could not be had, the
        problem and its reason.
    """

    def __init__(
        self,
        address: Address,
        selector: selectors.BaseSelector,
        ready: Callable[[Connection], None],
        failed: Callable[[Connection, Problem, str], None],
    ) -> None:
        self._address, self._selector = address, selector
        self._ready, self._failed = ready, failed
        self._tls = ssl.create_default_context() if address.secure else None
        self._addresses: list[tuple[socket.AddressFamily, tuple[Any, ...]]] = []

    def connect(self, c: Connection) -> None:
        """Open a socket to the first address that answers."""
        try:
            if not self._addresses:
                found = socket.getaddrinfo(
                    self._address.host, self._address.port, type=socket.SOCK_STREAM
                )
                self._addresses = [(family, where) for family, _, _, _, where in found]
            family, where = self._addresses[c.attempt]
            c.sock = socket.socket(family, socket.SOCK_STREAM)
            c.sock.setblocking(False)
            c.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            code = c.sock.connect_ex(where)
        except socket.gaierror as error:
            self._failed(c, Problem.DNS, error.strerror or str(error))
            return
        except OSError as error:
            code = error.errno or errno.EIO
        if code in (0, errno.EINPROGRESS, errno.EWOULDBLOCK):
            assert c.sock is not None
            self._selector.register(c.sock, _WRITE, lambda _: self._connected(c))
        else:
            self._not_connected(c, code)

    def _connected(self, c: Connection) -> None:
        assert c.sock is not None
        if code := c.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._not_connected(c, code)
            return
        if c.attempt:  # the next connection goes straight to what answered
            self._addresses = self._addresses[c.attempt :] + self._addresses[: c.attempt]
            c.attempt = 0
        if self._tls is None:
            self._ready(c)
            return
        self._selector.unregister(c.sock)
        c.sock = self._tls.wrap_socket(
            c.sock, server_hostname=self._address.host, do_handshake_on_connect=False
        )
        self._selector.register(c.sock, _WRITE, lambda _: self._shake_hands(c))
        self._shake_hands(c)

    def _not_connected(self, c: Connection, code: int) -> None:
        self.drop(c)
        if code in _OUR_FAULT:
            self._failed(c, Problem.CLIENT, os.strerror(code))
        elif c.attempt + 1 < len(self._addresses):
            c.attempt += 1
            self.connect(c)
        else:
            self._failed(c, Problem.REFUSED, os.strerror(code))

    def _shake_hands(self, c: Connection) -> None:
        assert isinstance(c.sock, ssl.SSLSocket)
        try:
            c.sock.do_handshake()
        except ssl.SSLWantReadError:
            self._selector.modify(c.sock, _READ, lambda _: self._shake_hands(c))
        except ssl.SSLWantWriteError:
            self._selector.modify(c.sock, _WRITE, lambda _: self._shake_hands(c))
        except ssl.SSLError as error:
            reason = getattr(error, "verify_message", "") or error.reason or str(error)
            self._failed(c, Problem.TLS, reason)
        except OSError as error:
            self._failed(c, Problem.TLS, error.strerror or str(error))
        else:
            self._ready(c)

    def drop(self, c: Connection) -> None:
        """Close the socket of a connection, where it has one."""
        if c.sock is not None:
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(c.sock)
            c.sock.close()
            c.sock = None
