"""A data directory on a file system of a few megabytes: what has to be kept is refused in time, nothing is lost."""

import queue
import subprocess

import pytest

from paho_client import Refused
from server import Server

SIZE_MB = 140  # two extents of 64 MiB, and not a third
KEPT = {"clean": False, "SessionExpiryInterval": 3600}
QUOTA_EXCEEDED = 0x97
BODY = b"x" * 100_000


@pytest.fixture
def small_disk(tmp_path):
    """A small file system, where the system lets us mount one."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("cannot mount a small file system here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def server(small_disk):
    own = Server(small_disk / "data")
    own.log = small_disk.parent / "server.log"
    yield own.start()
    own.stop()


def fill(publisher, topic):
    """Publishes until it is refused: how many messages were taken."""
    for taken in range(SIZE_MB * 20):
        if (reason := publisher.publish(topic, BODY)) != 0:
            assert reason == QUOTA_EXCEEDED
            return taken
    raise AssertionError("never refused")


def test_a_full_disk_refuses_publishers_and_serves_again_when_its_messages_are_taken_away(client, server, name):
    reader = name()
    first = client(server, client_id=reader, **KEPT)
    first.subscribe("kept")
    first.disconnect()
    publisher, passing = client(server), client(server)
    passing.subscribe("passing")
    taken = fill(publisher, "kept")
    assert taken > 600
    assert "the disk is full" in server.output()
    assert publisher.publish("passing", b"needs no disk") == 0
    assert passing.receive().payload == b"needs no disk"
    server.kill()
    server.start()
    publisher, back = client(server), client(server, client_id=reader, **KEPT)
    assert [len(payload) for payload in back.receive_payloads(taken)] == [len(BODY)] * taken
    watched = client(server)
    watched.subscribe("passing")
    while publisher.publish("kept", b"again") != 0:  # it asks the disk every few seconds
        publisher.publish("passing", b"tick")
        watched.receive()
    assert back.receive().payload == b"again"


def test_a_server_that_can_write_nothing_more_says_so_and_ends(client, server, small_disk, name):
    reader = name()
    first = client(server, client_id=reader, **KEPT)
    first.subscribe("kept")
    first.disconnect()
    taken = fill(client(server), "kept")
    # Subscriptions are not refused; the rest of the log goes with long ones.
    with pytest.raises((OSError, queue.Empty, Refused)):
        while True:
            greedy = client(server, client_id=name(), **KEPT)
            for n in range(100):
                greedy.subscribe(*(f"{n}/{m}/{'x' * 4000}" for m in range(80)))
    assert server.process.wait(timeout=10) == 1
    assert "its log cannot grow" in server.output()
    make_room = ["mount", "-o", f"remount,size={2 * SIZE_MB}m", str(small_disk)]
    subprocess.run(make_room, check=True)
    server.start()
    back = client(server, client_id=reader, **KEPT)
    assert len(back.receive_payloads(taken)) == taken
