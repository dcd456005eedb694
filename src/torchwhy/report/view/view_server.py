"""A server for one user on one machine: it listens on 127.0.0.1, only reads, and wants its token in every address.

The Host header must name this machine, so that no page from elsewhere can reach it through a name of its own. A run is
looked up by its name among the listed ones; no path is ever made from an address.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import unquote

from torchwhy.errors import TorchwhyError

LOCAL_NAMES = {"127.0.0.1", "localhost", "[::1]"}
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
HTML = "text/html; charset=utf-8"
TEXT = "text/plain; charset=utf-8"
JSON = "application/json"
LONGEST_ADDRESS = 1000


class Runs(Protocol):
    """What the server shows; None means that there is no such run."""

    def list_page(self) -> str:
        """Return the list of runs as HTML."""
        ...

    def run_page(self, name: str) -> str | None:
        """Return the page of one run as HTML."""
        ...

    def live(self, name: str) -> Mapping[str, Any] | None:
        """Return what is known of a run so far."""
        ...


class ViewServer(ThreadingHTTPServer):
    """Serves the runs; `address` is what the user opens."""

    daemon_threads = True

    def __init__(self, runs: Runs, *, port: int, token: str) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.runs = runs
        self.token = token

    @property
    def address(self) -> str:
        """Return the address of the list of runs, with the token."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do nothing: a reader that closes its tab early is no event."""


class _Handler(BaseHTTPRequestHandler):
    server: ViewServer
    server_version = "torchwhy"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer(*self._found())

    def do_HEAD(self) -> None:
        self._answer(*self._found())

    def _found(self) -> tuple[int, str, str]:
        """Return status, kind and content of what is asked for."""
        host = self.headers.get("Host", "").rsplit(":", 1)[0].lower()
        if host not in LOCAL_NAMES:
            return 403, TEXT, "this server answers to this machine only"
        words = self.path.partition("?")[0].split("/")
        if len(self.path) > LONGEST_ADDRESS or len(words) < 3:
            return 404, TEXT, "not found"
        if not hmac.compare_digest(words[1].encode(), self.server.token.encode()):
            return (
                403,
                TEXT,
                "the address lacks its token; `torchwhy view` prints the whole address",
            )
        try:
            return self._with_token(words[2:])
        except TorchwhyError as problem:
            return 500, TEXT, str(problem)
        except Exception as problem:
            return (
                500,
                TEXT,
                f"torchwhy failed ({type(problem).__name__}); this is a bug in torchwhy",
            )

    def _with_token(self, words: list[str]) -> tuple[int, str, str]:
        runs, content = self.server.runs, None
        if words == [""]:
            return 200, HTML, runs.list_page()
        if len(words) == 2 and words[0] == "run":
            content = runs.run_page(unquote(words[1]))
        if len(words) == 2 and words[0] == "live":
            facts = runs.live(unquote(words[1]))
            if facts is not None:
                return 200, JSON, json.dumps(facts, allow_nan=False)
        return (404, TEXT, "not found") if content is None else (200, HTML, content)

    def _answer(self, status: int, kind: str, content: str) -> None:
        body = content.encode(errors="replace")
        self.send_response(status)
        for name, value in {"Content-Type": kind, **HEADERS}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Print nothing."""
