"""Shared subscriptions: each message to one member of the group."""

import pytest

KEPT = {"clean": False, "SessionExpiryInterval": 300}


def publish_all(publisher, topic, count, qos=1):
    for mid in [publisher.send(topic, str(n), qos=qos) for n in range(count)]:
        publisher.await_published(mid)


def numbers(messages):
    return [int(m.payload) for m in messages]


def drain(members, topic, publisher, qos=1):
    """What each member has got, shown by a message that all get, of the same quality so that it overtakes none."""
    publisher.publish(f"{topic}/end", b"end", qos=qos)
    return [numbers(member.receive_until(b"end")) for member in members]


def join(client, topic, count, group="g", **options):
    members = [client(**options) for _ in range(count)]
    for member in members:
        member.subscribe(f"{topic}/end")
        member.subscribe(f"$share/{group}/{topic}/work")
    return members


def test_each_message_goes_to_one_member(client, topic, version, qos):
    publisher = client()
    members = join(client, topic, 3, version=version)
    publish_all(publisher, f"{topic}/work", 60, qos)
    parts = drain(members, topic, publisher, qos)
    assert sorted(sum(parts, [])) == list(range(60))
    assert all(part == sorted(part) and part for part in parts)


def test_every_group_and_every_plain_subscriber_gets_all(client, topic):
    publisher, plain = client(), client()
    plain.subscribe(f"{topic}/#")
    groups = [join(client, topic, 2, group) for group in ("a", "b")]
    publish_all(publisher, f"{topic}/work", 30)
    parts = drain([plain, *groups[0], *groups[1]], topic, publisher)
    assert parts[0] == list(range(30))
    assert sorted(parts[1] + parts[2]) == sorted(parts[3] + parts[4]) == list(range(30))


def test_a_member_that_unsubscribes_gets_no_more(client, topic):
    publisher = client()
    leaving, staying = join(client, topic, 2)
    assert leaving.unsubscribe(f"$share/g/{topic}/work") == [0]
    publish_all(publisher, f"{topic}/work", 20)
    parts = drain([leaving, staying], topic, publisher)
    assert parts == [[], list(range(20))]


def test_a_member_that_is_lost_leaves_the_work_to_the_others(client, topic):
    publisher = client()
    lost, staying = join(client, topic, 2)
    lost.vanish()
    publish_all(publisher, f"{topic}/work", 20)
    assert drain([staying], topic, publisher) == [list(range(20))]


@pytest.mark.usefixtures("ferrymq_only")
def test_what_a_leaving_member_had_not_acknowledged_goes_to_another(client, topic):
    publisher, silent = client(), client(manual_ack=True)
    silent.subscribe(f"$share/g/{topic}/work", qos=1)
    publish_all(publisher, f"{topic}/work", 10)
    assert len(silent.receive_payloads(10)) == 10
    staying = client()
    staying.subscribe(f"$share/g/{topic}/work", qos=1)
    silent.disconnect()
    assert sorted(int(p) for p in staying.receive_payloads(10)) == list(range(10))


def test_a_group_of_absent_persistent_members_loses_nothing(client, topic, name):
    names = [name(), name()]
    for one in names:
        member = client(client_id=one, **KEPT)
        member.subscribe(f"$share/g/{topic}/work", qos=1)
        member.disconnect()
    publish_all(client(), f"{topic}/work", 20)
    back, publisher = [client(client_id=one, **KEPT) for one in names], client()
    for member in back:
        member.subscribe(f"{topic}/end")
    assert sorted(sum(drain(back, topic, publisher), [])) == list(range(20))


def test_members_with_different_qualities_get_each_their_own(client, topic):
    members = [client(), client()]
    members[0].subscribe(f"$share/g/{topic}", qos=0)
    members[1].subscribe(f"$share/g/{topic}", qos=2)
    publish_all(client(), topic, 10, qos=2)
    assert members[0].receive().qos == 0
    assert members[1].receive().qos == 2


def test_wildcards_work_in_groups(client, topic):
    member, publisher = client(), client()
    member.subscribe(f"$share/g/{topic}/+/x")
    publisher.publish(f"{topic}/a/x", b"1")
    publisher.publish(f"{topic}/b/x", b"2")
    assert member.receive_payloads(2) == [b"1", b"2"]
