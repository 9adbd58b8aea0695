"""What FerryMQ offers although the specification leaves it to the server. Not asked of another server (`--lenient`)."""

import pytest
import wire
from statements import shows_5
from wire import CONNACK, DISCONNECT, V5


@pytest.fixture(autouse=True)
def ours(request):
    if request.config.getoption("--lenient", default=False):
        pytest.skip("left to the server by the specification")


@shows_5("3.1.2-26")
def test_a_topic_that_repeats_is_sent_by_its_alias(connect, name):
    peer = connect(V5, props={"topic_alias_maximum": 5})
    peer.subscribe(f"{name}/#")
    publisher = connect(V5)
    for _ in range(3):
        publisher.publish(f"{name}/t", b"x")
    found = [peer.delivery() for _ in range(3)]
    assert found[-1].topic == "" and found[-1].property("topic_alias") == found[0].property("topic_alias")


@shows_5("3.3.2-12")
def test_topic_aliases_of_clients_are_taken(connect, name):
    peer = connect(V5)
    assert peer.connack.property("topic_alias_maximum", 0) > 0
    peer.subscribe(f"{name}/t")
    peer.send(wire.publish(V5, f"{name}/t", b"1", props={"topic_alias": 1}),
              wire.publish(V5, "", b"2", props={"topic_alias": 1}))
    assert peer.aliased_deliveries(2)[0] == [f"{name}/t"] * 2


@shows_5("3.1.2-28")
def test_response_information_is_given_when_asked_for(dial, name):
    assert dial(V5).handshake(name, props={"request_response_information": 1}).property("response_information")


@shows_5("3.4.2-1", "3.5.2-1")
def test_a_publisher_learns_that_nobody_subscribed(connect, name):
    peer = connect(V5)
    assert peer.publish(name, b"x", 1) == 0x10
    assert peer.publish(name, b"x", 2) == 0x10


@shows_5("3.14.2-1")
def test_a_disconnect_of_the_server_says_why_in_words(connect):
    peer = connect(V5)
    peer.send(wire.publish(V5, "a/#", b"x"))
    found = peer.expect(DISCONNECT)
    assert found.property("reason_string")


@shows_5("3.2.2-8")
def test_a_refusing_connack_says_why_in_words(dial, name):
    peer = dial(V5)
    peer.send(wire.connect(V5, name, props={"receive_maximum": 0}))
    assert peer.expect(CONNACK).property("reason_string")


@shows_5("4.8.2-3")
def test_what_a_member_of_a_group_leaves_behind_goes_to_the_others(connect, name):
    leaves, stays = connect(V5), connect(V5)
    for peer in (leaves, stays):
        peer.subscribe(f"$share/g/{name}/t", qos=1)
    publisher = connect(V5)
    for number in range(6):
        publisher.publish(f"{name}/t", b"%d" % number, 1)
    leaves.drop()
    assert {p.payload for p in stays.deliveries(6)} == {b"%d" % n for n in range(6)}
