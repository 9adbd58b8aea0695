"""The server under test, clients of it, and the coverage report.

FERRYMQ_TEST_BROKER=host:port names a running server; otherwise target/release/ferrymq is started on a free port with
its data in a temporary directory (FERRYMQ_TEST_BINARY names another binary).
"""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from peer import Peer  # noqa: E402
from statements import Coverage, markdown  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
REPORT = ROOT / "docs" / "reference" / "mqtt-conformance.md"
COVERAGE = Coverage()


def pytest_addoption(parser):
    group = parser.getgroup("conformance")
    group.addoption("--write-report", action="store_true", help=f"write {REPORT.relative_to(ROOT)}")
    group.addoption("--lenient", action="store_true",
                    help="accept a close without the reason code that the specification only recommends")
    group.addoption("--fuzz-seconds", type=float, default=15.0, help="how long the fuzzer runs, default 15")
    group.addoption("--fuzz-seed", type=int, default=None, help="the seed of the fuzzer, default random")


def pytest_configure(config):
    for mark in ("shows_311", "shows_5"):
        config.addinivalue_line("markers", f"{mark}(id, ...): the numbered statements that the test shows")


def pytest_collection_modifyitems(items):
    COVERAGE.collect(items)
    if COVERAGE.unknown:
        raise pytest.UsageError("statements that do not exist: " + "; ".join(COVERAGE.unknown))


def pytest_runtest_logreport(report):
    COVERAGE.note(report.nodeid, report.outcome)


def pytest_terminal_summary(terminalreporter, config):
    terminalreporter.section("MQTT conformance")
    for line in COVERAGE.summary():
        terminalreporter.line(line)
    for line in COVERAGE.failing():
        terminalreporter.line(f"failing: {line}")
    if config.getoption("--write-report", default=False):
        REPORT.parent.mkdir(parents=True, exist_ok=True)
        REPORT.write_text(markdown(COVERAGE, os.environ.get("FERRYMQ_TEST_BROKER_NAME", "target/release/ferrymq")))
        terminalreporter.line(f"wrote {REPORT.relative_to(ROOT)}")


@pytest.fixture(scope="session")
def coverage():
    return COVERAGE


@pytest.fixture(scope="session")
def broker(tmp_path_factory):
    """The address of the server under test."""
    named = os.environ.get("FERRYMQ_TEST_BROKER")
    if named:
        host, _, port = named.rpartition(":")
        yield host, int(port)
        return
    server = Server(tmp_path_factory.mktemp("server"))
    server.start()
    yield server.address
    assert server.process.poll() is None, "the server died during the tests:\n" + server.tail()
    server.stop()


class Server:
    """A ferrymq of our own, with its data below a directory, on a free port that it keeps over restarts."""

    def __init__(self, directory):
        self.directory, self.address, self.process = directory, ("127.0.0.1", free_port()), None
        self.log = directory / "server.log"

    def start(self):
        binary = os.environ.get("FERRYMQ_TEST_BINARY", ROOT / "target" / "release" / "ferrymq")
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [str(binary), "serve", "--data-dir", str(self.directory / "data"),
                 "--listen", "mqtt={}:{}".format(*self.address)], stdout=log, stderr=subprocess.STDOUT)
        await_listener(self)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(10) == 0, "the server did not stop cleanly:\n" + self.tail()

    def kill(self):
        self.process.kill()
        self.process.wait(10)

    def tail(self):
        return self.log.read_text(errors="replace")[-2000:]


@pytest.fixture
def own_server(tmp_path):
    """A server of this test's own, which it may stop and kill."""
    if os.environ.get("FERRYMQ_TEST_BROKER"):
        pytest.skip("needs a server of its own")
    server = Server(tmp_path)
    server.start()
    yield server
    server.kill()


def await_listener(server):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            socket.create_connection(server.address, 1).close()
            return
        except OSError:
            pass
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = server.process.wait(timeout=0.02)
            raise AssertionError(f"the server ended at its start with {code}:\n{server.tail()}")
    raise AssertionError("the server does not listen")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def name(request, worker_counter=[0]):
    """A name that no other test has, for topics and client identifiers."""
    worker_counter[0] += 1
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower().removeprefix("test_"))[:40]
    return f"{words}-{os.getpid()}-{worker_counter[0]}"


@pytest.fixture
def dial(request):
    """Opens connections, without CONNECT, that are closed when the test ends; to `own_server` if the test has one."""
    opened = []
    own = "own_server" in request.fixturenames
    address = request.getfixturevalue("own_server").address if own else request.getfixturevalue("broker")

    def connection(version, **options):
        peer = Peer(address, version, strict=not request.config.getoption("--lenient", default=False), **options)
        opened.append(peer)
        return peer

    yield connection
    for peer in opened:
        peer.close()


@pytest.fixture
def connect(dial, name):
    """Connects clients; a client identifier of its own for each unless one is given."""
    count = [0]

    def client(version, client_id=None, accept=True, **options):
        count[0] += 1
        peer = dial(version)
        connack = peer.handshake(f"{name}-{count[0]}" if client_id is None else client_id, **options)
        if accept:
            assert connack.reason == 0, connack
        return peer

    return client


@pytest.fixture
def passing():
    """Lets time pass where time itself is the subject; at most 2 seconds."""
    def wait(seconds):
        assert seconds <= 2
        quiet, other = socket.socketpair()
        with quiet, other:
            quiet.settimeout(seconds)
            with pytest.raises(TimeoutError):
                quiet.recv(1)

    return wait
