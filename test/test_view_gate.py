# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The viewer's gate: who has no token, is another origin or another host sees nothing and moves nothing.

The messages of the attackers here are those of viser's own page, made by one who knows the secret name of a slider.
"""

import http.client
import http.server
import logging
import socket
import threading
from contextlib import suppress
from html import unescape
from urllib.parse import urlsplit

import msgspec
import numpy as np
import pytest
import viser
import websockets.asyncio.server
from browser import page
from free_port import free_port
from viser._messages import GuiUpdateMessage, ViewerCameraMessage
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

import robodyn_ros as rd
from robodyn_ros.errors import ConfigurationError
from robodyn_ros.view.browser import Browser, check_free
from robodyn_ros.view.gate import EXPOSED, Gate, is_exposed
from robodyn_ros.view.panel import Panel, Requests

MARKUP = "&lt;iframe srcdoc='&lt;script>parent.ran=1&lt;/script>'>&lt;/iframe>&lt;img src=nothing onerror='ran=1'>"
"""In a URDF; it runs wherever it is taken for HTML."""

ROBOT = f"""<robot name="{MARKUP}"><material name="{MARKUP}"/><link name="b {MARKUP}"/>
<link name="x {MARKUP}"><inertial><mass value="1"/></inertial>
<visual name="{MARKUP}"><geometry><box size="0.1 0.1 0.3"/></geometry><material name="{MARKUP}"/></visual>
<visual><geometry><mesh filename="package://{MARKUP.replace('"', "")}/x.stl"/></geometry></visual></link>
<joint name="j {MARKUP}" type="prismatic"><parent link="b {MARKUP}"/><child link="x {MARKUP}"/>
<limit lower="-1" upper="1" effort="50" velocity="1"/></joint></robot>"""


class Shown:
    """A page with the panel of the viewer, and what was asked for by it."""

    def __init__(self, host="127.0.0.1", port=None):
        robot = rd.load_robot(ROBOT)
        self.browser = Browser(robot, host, free_port() if port is None else port)
        self.port = urlsplit(self.browser.url).port
        self.token = urlsplit(self.browser.url).query.removeprefix("token=")
        self.asked, self.moved = [], threading.Event()
        requests = Requests(self._move, *[lambda *given: self.asked.append(given)] * 5)
        choices = {"controller": ("one", "two")}
        self.panel = Panel(self.browser.server.gui, robot, requests, choices, simulated=True)
        self.panel.set_sliders(np.zeros(1))

    def _move(self, q):
        self.asked.append(q)
        self.moved.set()

    def push(self, value):
        """The messages by which the page makes itself known and moves the slider."""
        slider = self.panel._sliders[0]._impl.uuid
        look = {"wxyz": (1.0, 0.0, 0.0, 0.0), "look_at": (0.0, 0.0, 0.0), "up_direction": (0.0, 0.0, 1.0), "far": 9.0}
        seen = {"position": (0.0, 0.0, 1.0), "fov": 1.0, "near": 0.1, "image_height": 100, "image_width": 100}
        camera = {"type": ViewerCameraMessage.__name__, **look, **seen}
        move = {"type": GuiUpdateMessage.__name__, "uuid": slider, "updates": {"value": value}}
        return [msgspec.msgpack.encode(message) for message in (camera, move)]

    def get(self, path="/", **headers):
        """Status, headers and body of an answer; an underscore in a header's name is a hyphen."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.putrequest("GET", path, skip_host="Host" in headers)
        for name, value in headers.items():
            for one in value if isinstance(value, list) else [value]:
                connection.putheader(name.replace("_", "-"), one)
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, dict(answer.headers), body

    def connect(self, cookie, origin, host=None):
        """A WebSocket, as the page opens it."""
        protocol = f"viser-v{viser.__version__}"
        headers = {"Cookie": cookie} if cookie else {}
        at = f"ws://{host or f'127.0.0.1:{self.port}'}"
        with socket.create_connection(("127.0.0.1", self.port)) as wire:
            return connect(at, sock=wire.dup(), origin=origin, additional_headers=headers, subprotocols=[protocol])

    @property
    def cookie(self):
        return self.get(f"/?token={self.token}")[1]["Set-Cookie"].split(";")[0]

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.port}"


@pytest.fixture
def shown():
    made = Shown()
    yield made
    made.browser.stop()


def test_the_address_that_is_printed_opens_the_page_and_a_cookie_keeps_it_open(shown):
    status, headers, body = shown.get(f"/?token={shown.token}")
    assert status == 200
    assert b"<title>" in body and b"<title>Viser" not in body  # the name of the arm
    assert headers["Set-Cookie"] == f"robodyn_{shown.port}={shown.token}; HttpOnly; SameSite=Strict; Path=/"
    for directive in ("connect-src 'self'", "frame-src 'none'", "frame-ancestors 'none'", "script-src-attr 'none'"):
        assert directive in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "no-referrer"
    status, headers, _ = shown.get("/", Cookie=f"other=1; {shown.cookie}; more=2")
    assert status == 200
    assert "Set-Cookie" not in headers
    assert shown.get("/", Cookie=shown.cookie, Host=f"localhost:{shown.port}")[0] == 200
    assert shown.get("/", Cookie=shown.cookie, Host="localhost:9000")[0] == 200  # through a tunnel


def test_who_has_no_token_sees_nothing(shown):
    name = f"robodyn_{shown.port}"
    wrong = [{"Cookie": f"{name}={value}"} for value in ("", "x", "ä", shown.token[:-1], shown.token + "x", '"')]
    paths = ("/", "/index.html", "/?token=", "/?token=x", f"/?Token={shown.token}", f"/?token={shown.token[:-1]}")
    other = f"robodyn_{shown.port + 1}={shown.token}"  # that of another viewer
    for path, headers in [(path, {}) for path in paths] + [("/", more) for more in [*wrong, {"Cookie": other}]]:
        status, answered, body = shown.get(path, **headers)
        assert status == 403, (path, headers)
        assert b"open the address that the viewer has printed" in body
        assert "Set-Cookie" not in answered
        assert shown.token.encode() not in body


def test_a_connection_that_asks_for_nothing_is_no_error(monkeypatch, caplog):
    """A browser opens connections ahead, and closes them unused."""
    monkeypatch.setattr(logging.getLogger("websockets.server"), "filters", [])
    viewer = Shown()
    socket.create_connection(("127.0.0.1", viewer.port)).close()
    assert viewer.get()[0] == 403  # after it, on the same loop
    viewer.browser.stop()
    assert not caplog.records


def test_another_name_for_this_machine_is_refused_whatever_it_brings(shown):
    """DNS rebinding: an attacker lets a name of his own point to 127.0.0.1."""
    at = f"/?token={shown.token}"
    for host in ("evil.example", f"evil.example:{shown.port}", "127.0.0.1.evil.example", "localhost.evil.example",
                 f"evil.example@127.0.0.1:{shown.port}x", "", "192.168.0.7", "[::1", "0.0.0.0"):  # fmt: skip
        status, _, body = shown.get(at, Host=host)
        assert status == 403, host
        assert b"this server is not" in body
    assert shown.get(at, Host=[f"127.0.0.1:{shown.port}", "evil.example"])[0] in (400, 403)


def test_only_the_page_itself_moves_the_arm(shown):
    cookie = shown.cookie
    others = [
        *("http://evil.example", "null", f"https://127.0.0.1:{shown.port}", "http://127.0.0.1"),
        *(f"http://127.0.0.1:{shown.port + 1}", f"{shown.origin}.evil.example", f"http://localhost:{shown.port}"),
        *(None, "", f"{shown.origin}/"),
    ]
    for origin in others:
        with pytest.raises(InvalidStatus, match="403"):
            shown.connect(cookie, origin)
    for token in (None, "robodyn=1", cookie[:-1]):
        with pytest.raises(InvalidStatus, match="403"):
            shown.connect(token, shown.origin)
    with pytest.raises(InvalidStatus, match="403"):
        shown.connect(cookie, "http://evil.example", "evil.example")
    assert not shown.asked
    with shown.connect(cookie, shown.origin) as page:
        for message in shown.push(0.5):
            page.send(message)
        assert shown.moved.wait(120.0)
    assert [q.tolist() for q in shown.asked] == [[0.5]]


def test_the_sliders_show_the_reference(shown):
    for q, text in ((0.31416, "0.3142"), (7.0, "1.0"), (-1e-6, "0.0")):
        shown.panel.set_sliders(np.array([q]))
        assert str(shown.panel._sliders[0].value) == text
    assert not shown.asked


def test_a_viewer_for_other_machines_takes_their_addresses_and_still_a_token():
    shown = Shown("0.0.0.0")
    try:
        assert shown.browser.url.startswith(f"http://localhost:{shown.port}/?token=")
        for host in ("192.168.0.7:8080", "[fe80::1]:8080", "127.0.0.1", f"{socket.gethostname()}:8080"):
            assert shown.get(f"/?token={shown.token}", Host=host)[0] == 200, host
            assert shown.get("/", Host=host)[0] == 403
        assert shown.get(f"/?token={shown.token}", Host="evil.example")[0] == 403
    finally:
        shown.browser.stop()
    assert "anyone with its address" in EXPOSED
    exposed = ("0.0.0.0", "::", "192.168.0.7", "robot.local", "")
    assert [is_exposed(host) for host in (*exposed, "127.0.0.1", "127.1.2.3", "::1", "localhost")] == 5 * [True] + 4 * [
        False
    ]


def test_an_address_of_ipv6_is_listened_at():
    with suppress(OSError), socket.create_server(("::1", 0), family=socket.AF_INET6) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"cannot listen at ::1:{port}: .*in use"):
            check_free("::1", port)
        taken.close()
        check_free("::1", port)


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_is_none_is_refused(port):
    with pytest.raises(ConfigurationError, match=f"cannot listen at 127.0.0.1:{port}: .* from 1 to 65535"):
        check_free("127.0.0.1", port)


def test_a_port_that_another_viewer_takes_in_the_meantime_is_refused(monkeypatch, prr):
    monkeypatch.setattr("robodyn_ros.view.browser.check_free", lambda host, port: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"cannot listen at 127.0.0.1:{port}: it is taken"):
            Browser(rd.load_robot(prr), "127.0.0.1", port)


def test_two_viewers_without_a_port_take_the_first_two_that_are_free(monkeypatch, shown):
    monkeypatch.setattr("robodyn_ros.view.browser.PORT", shown.port)
    others = [Shown(port=0) for _ in range(2)]
    try:
        assert shown.port < others[0].port < others[1].port
        for each in others:
            assert each.get(f"/?token={each.token}")[1]["Set-Cookie"].startswith(f"robodyn_{each.port}=")
            assert each.get()[0] == 403
        with pytest.raises(ConfigurationError, match=r"cannot listen at 192\.0\.2\.1:0: "):
            Browser(rd.load_robot(ROBOT), "192.0.2.1", 0)  # an address for documentation, of no machine
    finally:
        for each in others:
            each.browser.stop()


def test_each_start_has_a_token_of_its_own():
    tokens = {Gate("127.0.0.1", 8080).token for _ in range(100)}
    assert len(tokens) == 100
    assert min(map(len, tokens)) >= 22  # 128 bits


def test_a_viser_that_cannot_be_guarded_is_not_used(monkeypatch):
    before = websockets.asyncio.server.serve
    with pytest.raises(ConfigurationError, match="cannot be guarded"), Gate("127.0.0.1", 1).installed():
        pass
    assert websockets.asyncio.server.serve is before


class Evil:
    """A site of an attacker: its page connects to the viewer, and says so in its title when it is through."""

    def __init__(self, shown):
        names = ", ".join(f'"ws://{name}:{shown.port}"' for name in ("127.0.0.1", "localhost"))
        messages = [list(message) for message in shown.push(-0.75)]
        content = f"""<title>trying</title><iframe src="{shown.origin}/"></iframe><script>
        let left = 2;
        for (const at of [{names}]) {{
            const wire = new WebSocket(at, ["viser-v{viser.__version__}"]);
            wire.onopen = () => {{ for (const one of {messages}) wire.send(new Uint8Array(one)); }};
            wire.onclose = event => {{ if (--left == 0) document.title = "through"; }};
        }}</script>""".encode()

        class Site(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
        self.at = f"http://127.0.0.1:{self.server.server_address[1]}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.mark.timeout(300)
def test_in_a_browser_nothing_runs_that_a_urdf_brings_and_no_other_page_moves_the_arm(shown):
    """The browser has the cookie, and the other site is the same site to it: another port of this machine."""
    evil = Evil(shown)
    shown.panel.say(unescape(MARKUP), f"of a message {unescape(MARKUP)} </script>")
    with page(480, 320) as mine:
        asked = []
        mine.on("request", lambda request: asked.append(request.url))
        mine.goto(shown.browser.url)
        mine.get_by_text("one").first.wait_for(state="attached", timeout=300_000)  # the panel is there
        assert "initialCameraPosition=" in mine.url
        breaks = "[...document.querySelectorAll('label wbr')].map(place => getComputedStyle(place).display)"
        assert set(mine.evaluate(breaks)) == {"none"}  # viser would break names
        assert mine.get_by_text("<iframe srcdoc=").count() > 2  # as text: in the title, the status, a slider's label
        assert mine.evaluate("window.ran") is None
        assert mine.evaluate("document.querySelectorAll('iframe, img[src=nothing], object, embed').length") == 0
        assert not [url for url in asked if "nothing" in url]
        other = mine.context.new_page()
        other.goto(evil.at)
        other.wait_for_function("document.title == 'through'", timeout=300_000)
        assert not shown.asked
        assert not other.frames[1].get_by_text("one").count()  # the page does not let itself be framed
        link = mine.context.new_page()  # an address that names the attacker's server as the page's own
        link.goto(f"{shown.origin}/?websocket=ws://{urlsplit(evil.at).netloc}&playbackPath={evil.at}")
        refused = link.evaluate("fetch(" + repr(evil.at) + ").then(() => 'let through', () => 'refused')")
        assert refused == "refused"
    evil.server.shutdown()
    evil.server.server_close()
    np.testing.assert_equal(len(shown.asked), 0)
