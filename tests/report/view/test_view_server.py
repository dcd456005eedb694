"""The server of `torchwhy view`: this machine only, with its token, by the names of runs, and it only reads."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from torchwhy.errors import TraceError
from torchwhy.record.events import MicroscopeLeft, Step
from torchwhy.record.trace import Trace
from torchwhy.report.view.live_data import live_facts
from torchwhy.report.view.view_pages import RunShown, list_page, live_page
from torchwhy.report.view.view_server import ViewServer

TOKEN = "secret-token"


class OneRun:
    """Knows one run, named `good`; the page of `damaged` cannot be made."""

    def list_page(self) -> str:
        return "the list"

    def run_page(self, name: str) -> str | None:
        if name == "damaged":
            raise TraceError("the trace is damaged.", slug="unreadable-trace")
        if name == "broken":
            raise KeyError("secret words")
        return "the page" if name == "good" else None

    def live(self, name: str) -> dict[str, Any] | None:
        return {"steps": 3} if name == "good" else None


@pytest.fixture(scope="module")
def server() -> Iterator[ViewServer]:
    with ViewServer(OneRun(), port=0, token=TOKEN) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def ask(server: ViewServer, path: str, *, method: str = "GET", host: str | None = None):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    with closing(connection):
        headers = {} if host is None else {"Host": host}
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer


def test_the_list_and_a_run_are_shown_to_who_has_the_token(server):
    assert ask(server, f"/{TOKEN}/")[:2] == (200, "the list")
    assert ask(server, f"/{TOKEN}/run/good")[:2] == (200, "the page")
    assert json.loads(ask(server, f"/{TOKEN}/live/good")[1]) == {"steps": 3}
    assert server.address == f"http://127.0.0.1:{server.server_port}/{TOKEN}/"
    assert server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "path", ["/", "/run/good", "/wrong/", "/wrong/run/good", "//", "/secret-toke/"]
)
def test_without_the_token_nothing_is_shown(server, path):
    status, text, _ = ask(server, path)

    assert status in (403, 404)
    assert "list" not in text
    assert "page" not in text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_another_host_is_refused(server, host):
    assert ask(server, f"/{TOKEN}/", host=host)[0] == 403


@pytest.mark.parametrize("host", ["localhost:9", "127.0.0.1:1234", "LOCALHOST"])
def test_names_of_this_machine_are_answered_also_through_a_tunnel(server, host):
    assert ask(server, f"/{TOKEN}/", host=host)[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "run/../../etc/passwd",
        "run/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "run/good/..",
        "../",
        "x" * 2000,
    ],
)
def test_no_path_leads_elsewhere(server, path):
    assert ask(server, f"/{TOKEN}/{path}")[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_it_only_reads(server, method):
    assert ask(server, f"/{TOKEN}/", method=method)[0] == 501


def test_a_failure_is_told_without_its_details(server):
    assert ask(server, f"/{TOKEN}/run/damaged")[:2] == (
        500,
        "the trace is damaged. [unreadable-trace]",
    )
    status, text, _ = ask(server, f"/{TOKEN}/run/broken")
    assert status == 500
    assert "secret words" not in text


def test_answers_are_not_kept_framed_or_guessed(server):
    headers = ask(server, f"/{TOKEN}/")[2].headers

    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"


def test_commands_in_the_list_are_text():
    shown = RunShown("a/b", "train.py <script>alert(1)</script>", "2026", "failed", "<b>")

    html = list_page([shown], "runs") + live_page(shown)

    assert "<script>alert" not in html
    assert "<b>" not in html
    assert "run/a/b" in html


def test_a_running_program_tells_its_steps_and_what_looking_took():
    steps = [Step(step=i, optimizer=0, losses=[1.0 / (i + 1)], milliseconds=4.0) for i in range(5)]
    left = MicroscopeLeft(step=1, reason="", operations=3, seconds=0.5)

    facts = live_facts([Trace((*steps, left))], [], has_ended=False)

    assert facts["steps"] == 5
    assert facts["losses"][0]["x"] == [0, 1, 2, 3, 4]
    assert facts["milliseconds"] == 4.0
    assert facts["cost"] == "the microscope took 0.5 s so far"
    assert facts["findings"] == []
    json.dumps(facts, allow_nan=False)


def test_a_program_that_has_recorded_nothing_yet_is_no_error():
    assert live_facts([], [], has_ended=False)["steps"] == 0
