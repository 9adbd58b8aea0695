"""Fixtures: a server for all, a server of one's own, clients that are gone when the test is."""

import itertools
import time

import pytest

import paho_client
import server as servers

_numbers = itertools.count(1)
_run = f"{time.time_ns() // 1_000_000 % 10**9}"


def pytest_addoption(parser):
    parser.addoption("--kill-rounds", type=int, default=20, help="rounds of kill -9 in test_kill_loop.py")


@pytest.fixture(scope="session")
def broker(tmp_path_factory):
    """A broker with default settings, shared by all the tests that need no other."""
    outside = servers.external()
    if outside is not None:
        yield outside
        return
    shared = servers.Server(tmp_path_factory.mktemp("broker") / "data").start()
    yield shared
    alive = shared.process.poll() is None
    shared.stop()
    assert alive, "the shared server died during the tests:\n" + shared.output()


@pytest.fixture
def new_server(tmp_path):
    """Makes servers of this test's own: `new_server()` starts one with its data in a temporary directory."""
    if servers.external() is not None:
        pytest.skip("needs a server of its own")
    started = []

    def make(name="data", **options):
        started.append(servers.Server(tmp_path / name, **options))
        return started[-1].start()

    yield make
    for one in started:
        one.stop()


@pytest.fixture
def own_broker():
    """Whether the broker under test is FerryMQ."""
    return servers.external() is None


@pytest.fixture
def ferrymq_only(own_broker):
    """For what MQTT recommends or leaves open and FerryMQ promises."""
    if not own_broker:
        pytest.skip("a promise of FerryMQ's, not of MQTT's")


@pytest.fixture
def topic():
    """A topic of this test's own, two levels deep."""
    return f"interop{_run}/{next(_numbers)}"


@pytest.fixture
def name():
    """Makes client identifiers that no other test uses, short enough for MQTT 3.1."""
    return lambda: f"i{_run}-{next(_numbers)}"


@pytest.fixture
def client(broker):
    """Makes connected Paho clients: `client(version=5, client_id="x", clean=False)`."""
    made = []

    def connect(at=broker, **options):
        made.append(paho_client.Client(at, **options))
        return made[-1]

    yield connect
    for one in made:
        one.close()


@pytest.fixture(params=["3.1", "3.1.1", "5"])
def version(request):
    """Each version of the protocol."""
    return request.param


@pytest.fixture(params=[0, 1, 2])
def qos(request):
    """Each quality of service."""
    return request.param
