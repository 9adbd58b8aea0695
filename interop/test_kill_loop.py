"""kill -9 under load, and proof that the loop would notice a broken promise."""

import random

import pytest

import server as servers
from kill_loop import Loop
from tally import Tally


@pytest.mark.skipif(servers.external() is not None, reason="needs a server of its own")
@pytest.mark.parametrize("small_log", [False, True], ids=["default log", "small log"])
def test_nothing_acknowledged_is_lost_and_nothing_of_qos_2_doubled_over_kill_9(tmp_path, request, capsys, small_log):
    rounds, seed = request.config.getoption("--kill-rounds") // 2, random.randrange(2**32)
    loop = Loop(tmp_path, seed, small_log)
    try:
        tally = loop.run(rounds)
    finally:
        loop.server.stop()
    with capsys.disabled():
        print(f"\nkill -9, {'small' if small_log else 'default'} log, seed {seed}: {tally}")
    assert tally.breaches() == {}
    if small_log:
        assert loop.log_bytes() < 64 << 20, "the log is not reclaimed"
    assert tally.crashes == rounds and tally.received == tally.sent >= rounds


@pytest.fixture
def tally():
    """Two messages of one publisher, sent, acknowledged and received."""
    tally = Tally()
    for number in range(2):
        tally.on_sent("p", number, again=False)
        tally.on_acknowledged("p", number)
        tally.on_received("p", number, qos=1, dup=False)
    return tally


def test_a_clean_run_has_no_breach(tally):
    assert tally.breaches() == {} and (tally.sent, tally.acknowledged, tally.received) == (2, 2, 2)


def test_an_acknowledged_message_that_never_arrives_is_lost(tally):
    tally.on_acknowledged("p", 2)
    assert tally.breaches() == {"lost": 1}


def test_a_second_qos_2_delivery_is_a_duplicate_whatever_its_flags(tally):
    tally.on_crash()
    tally.on_received("p", 1, qos=2, dup=True)
    assert tally.breaches() == {"duplicates": 1}


def test_a_second_qos_1_delivery_needs_an_explanation(tally):
    tally.on_received("p", 1, qos=1, dup=False)
    assert tally.breaches() == {"unmarked": 1}


def test_dup_a_crash_or_a_resend_explain_a_second_qos_1_delivery(tally):
    tally.on_received("p", 1, qos=1, dup=True)
    tally.on_sent("p", 0, again=True)
    tally.on_received("p", 0, qos=1, dup=False)
    tally.on_crash()
    tally.on_received("p", 1, qos=1, dup=False)
    assert tally.breaches() == {} and tally.redelivered == 3


def test_first_deliveries_out_of_order_are_found(tally):
    tally.on_received("p", 3, qos=1, dup=False)
    tally.on_received("p", 2, qos=1, dup=False)
    assert tally.breaches() == {"disorder": 1}
