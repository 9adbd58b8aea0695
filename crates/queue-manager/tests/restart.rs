//! What a restart makes of the records, beyond losing nothing: figures, timers, marks, tags.

mod driver;

use driver::Driver;
use ferrymq_message::QoS;
use ferrymq_queue_manager::Settlement;

const Q1: QoS = QoS::AtLeastOnce;

/// A persistent subscriber of `a` (connection 1) and a persistent publisher (connection 9).
fn pair(qos: QoS) -> Driver {
    let mut d = Driver::logged();
    d.resume(1, "subscriber");
    d.subscribe(1, "a", qos);
    d.resume(9, "publisher");
    d.effects.clear();
    d
}

#[test]
fn memory_of_consumed_messages_does_not_count_after_a_restart() {
    let mut d = pair(Q1);
    for n in 1..=5 {
        d.publish(9, "a", "x", Q1, n);
    }
    d.take_delivered().iter().for_each(|m| d.settle(1, m.tag, Settlement::Accepted));
    d.publish(9, "a", "ended with its session", Q1, 6);
    d.connect(2, "subscriber");
    d.crash();
    assert_eq!(d.queue_manager.statistics().resident_bytes, 0);
}
