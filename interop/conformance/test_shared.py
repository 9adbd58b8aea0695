"""Chapter 4.8.2: shared subscriptions."""

import pytest
import wire
from peer import kept
from statements import shows_5
from wire import DISCONNECT, PUBACK, PUBREC, SUBACK, V5


def members(connect, name, count, qos=1, group="g", **options):
    """Members of a group on `name`/t, each also subscribed to the marker `name`/end."""
    found = [connect(V5, f"{name}-{group}-{n}", **options) for n in range(count)]
    for peer in found:
        peer.subscribe((f"$share/{group}/{name}/t", qos), (f"{name}/end", 0))
    return found


def collected(peers, publisher, name):
    """What each member got up to the marker, nothing acknowledged."""
    publisher.publish(f"{name}/end")
    return [peer.until(f"{name}/end") for peer in peers]


def payloads(found):
    return sorted(packet.payload for packet in found)


@pytest.mark.parametrize("qos", [0, 1, 2])
@shows_5("4.8.2-1", "4.8.2-3")
def test_each_message_goes_to_one_member_of_each_group(connect, name, qos):
    one, two = members(connect, name, 3, qos), members(connect, name, 2, qos, group="h")
    plain = connect(V5)
    plain.subscribe(f"{name}/t", f"{name}/end", qos=qos)
    publisher = connect(V5)
    for number in range(12):
        publisher.publish(f"{name}/t", b"%02d" % number, qos)
    got = collected([*one, *two, plain], publisher, name)
    for group in (got[:3], got[3:5], got[5:]):
        assert payloads(sum(group, [])) == [b"%02d" % n for n in range(12)]


@shows_5("4.8.2-3")
def test_the_granted_qos_of_each_member_is_kept(connect, name):
    low, high = connect(V5), connect(V5)
    low.subscribe((f"$share/g/{name}/t", 0), (f"{name}/end", 0))
    high.subscribe((f"$share/g/{name}/t", 2), (f"{name}/end", 0))
    publisher = connect(V5)
    for number in range(8):
        publisher.publish(f"{name}/t", b"%d" % number, 1)
    at_low, at_high = collected([low, high], publisher, name)
    assert len(at_low) + len(at_high) == 8
    assert all(p.qos == 0 for p in at_low) and all(p.qos == 1 for p in at_high)


@pytest.mark.parametrize("bad", ["$share/", "$share/g", "$share/g/", "$share//t", "$share/+/t", "$share/#/t",
                                 "$share/g+/t", "$share/g#/t", "$share/g/a#", "$share/g/#/a"])
@shows_5("4.8.2-1", "4.8.2-2")
def test_a_shared_filter_that_is_none_is_refused(connect, bad):
    peer = connect(V5)
    peer.send(wire.subscribe(V5, 1, [(bad, 0)]))
    found = peer.receive_or_last_words()
    if found and found.kind == SUBACK:
        assert found.reasons[0] in (0x8F, 0x80), found
        peer.alive()
    elif found:
        assert found.kind == DISCONNECT and found.reason in (0x81, 0x82, 0x8F)


@pytest.mark.parametrize("pattern", ["#", "+/t", "/t", "$x/t"])
@shows_5("4.8.2-2")
def test_any_filter_may_be_shared(connect, name, pattern):
    assert connect(V5).subscribe(f"$share/{name}/{pattern}", qos=1) == [1]


@shows_5("4.8.2-2", "3.10.4-1")
def test_a_member_leaves_by_unsubscribe(connect, name):
    stays, leaves = members(connect, name, 2, 0)
    assert leaves.unsubscribe(f"$share/other/{name}/t") == [0x11]
    assert leaves.unsubscribe(f"$share/g/{name}/t") == [0]
    publisher = connect(V5)
    for number in range(4):
        publisher.publish(f"{name}/t", b"%d" % number)
    assert [len(found) for found in collected([stays, leaves], publisher, name)] == [4, 0]


@shows_5("4.8.2-1")
def test_a_member_that_disconnects_gets_no_more_of_the_messages(connect, name):
    stays, leaves = members(connect, name, 2, 1)
    leaves.leave()
    publisher = connect(V5)
    for number in range(4):
        publisher.publish(f"{name}/t", b"%d" % number, 1)
    assert payloads(collected([stays], publisher, name)[0]) == [b"0", b"1", b"2", b"3"]


@shows_5("4.8.2-4", "4.4.0-1")
def test_an_interrupted_qos_2_delivery_is_completed_to_the_same_member(connect, name):
    first, second = members(connect, name, 2, 2, **kept(V5))
    publisher = connect(V5)
    publisher.publish(f"{name}/t", b"x", 2)
    got = collected([first, second], publisher, name)
    chosen, other = (first, second) if got[0] else (second, first)
    sent = (got[0] or got[1])[0]
    chosen_name = f"{name}-g-0" if got[0] else f"{name}-g-1"
    chosen.drop()
    other.alive()
    again = connect(V5, chosen_name, **kept(V5))
    resent = again.delivery()
    assert (resent.packet_id, resent.payload, resent.dup) == (sent.packet_id, b"x", True)
    other.alive()


@shows_5("4.8.2-5")
def test_a_qos_2_delivery_begun_goes_to_no_other_member_when_the_session_ends(connect, name):
    first, second = members(connect, name, 2, 2, **kept(V5))
    publisher = connect(V5)
    publisher.publish(f"{name}/t", b"x", 2)
    got = collected([first, second], publisher, name)
    chosen, other = (first, second) if got[0] else (second, first)
    chosen.drop()
    connect(V5, f"{name}-g-0" if got[0] else f"{name}-g-1", clean=True)
    assert collected([other], publisher, name) == [[]]


@pytest.mark.parametrize("qos, kind", [(1, PUBACK), (2, PUBREC)])
@shows_5("4.8.2-6", "4.4.0-2")
def test_a_refused_shared_message_goes_to_nobody_else(connect, name, qos, kind):
    both = members(connect, name, 2, 2)
    publisher = connect(V5)
    publisher.publish(f"{name}/t", b"x", qos)
    got = collected(both, publisher, name)
    chosen = both[0] if got[0] else both[1]
    chosen.send(wire.acknowledge(kind, (got[0] or got[1])[0].packet_id, 0x80))
    chosen.alive()
    assert collected(both, publisher, name) == [[], []]


@shows_5("3.3.4-3", "4.8.2-3")
def test_a_shared_subscription_has_its_identifier(connect, name):
    peer = connect(V5)
    peer.subscribe(f"$share/g/{name}", qos=1, props={"subscription_identifier": 5})
    peer.publish(name, b"x", 1)
    assert peer.delivery().all("subscription_identifier") == [5]


@shows_5("4.8.2-1", "3.3.4-5")
def test_a_shared_and_a_plain_subscription_of_one_client_are_two(connect, name):
    peer = connect(V5)
    peer.subscribe(f"$share/g/{name}/t", f"{name}/t", f"{name}/end")
    publisher = connect(V5)
    publisher.publish(f"{name}/t", b"x")
    publisher.publish(f"{name}/end")
    assert [p.payload for p in peer.until(f"{name}/end")] == [b"x", b"x"]


@shows_5("4.8.2-1")
def test_groups_of_one_name_with_different_filters_are_different_groups(connect, name):
    peer = connect(V5)
    peer.subscribe(f"$share/g/{name}/t", f"$share/g/{name}/+", f"{name}/x/end")
    publisher = connect(V5)
    publisher.publish(f"{name}/t", b"x")
    publisher.publish(f"{name}/x/end")
    assert len(peer.until(f"{name}/x/end")) == 2


@shows_5("4.8.2-3", "3.1.2-23")
def test_messages_wait_for_a_group_of_absent_members(connect, name):
    first = connect(V5, name, **kept(V5))
    first.subscribe(f"$share/g/{name}/t", qos=1)
    first.leave()
    publisher = connect(V5)
    for number in range(5):
        publisher.publish(f"{name}/t", b"%d" % number, 1)
    second = connect(V5, name, **kept(V5))
    assert [p.payload for p in second.deliveries(5)] == [b"%d" % n for n in range(5)]
