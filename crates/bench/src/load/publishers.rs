//! The sending side: which publisher may send how much now, and its messages appended to its output.

use ferrymq_mqtt_proto::client::PublishTemplate;
use ferrymq_transport::{ConnectionToken, Io};

use super::packets;
use crate::scenario::{Load, Plan};
use crate::stamp::Stamp;

/// Messages one publisher may have unacknowledged in a rated test: packet identifiers are 16 bits.
const RATED_IN_FLIGHT_MAX: u32 = 60_000;
/// Unsent bytes of one publisher beyond which it waits: the server does not read.
const UNSENT_BYTES_MAX: usize = 1 << 20;
/// Shortest sleep of a rated test, so that high rates go out in small batches.
const PACE_US: u64 = 100;
/// A message that had been due for longer than this when the loop looked was kept by the harness, not by the server.
const LATE_US: u64 = 10_000;
/// Messages that fall due in one turn at most: a harness that is behind its schedule goes on reading while it catches
/// up (a write each, about 2 ms), or the server drops at QoS 0 what the harness does not take.
const TURN_MESSAGES_MAX: u64 = 1_024;
/// A publisher of a closed loop goes on when this part of its window is free: several messages a write.
const REFILL_PART: u64 = 4;

/// One publisher's connection; all that a message needs of it lies in one line of the cache.
#[derive(Debug)]
#[repr(align(64))]
struct Publisher {
    /// `None` until it is ready.
    token: Option<ConnectionToken>,
    /// Place in `Publishers::templates`.
    template: u32,
    /// Number of its next message = messages sent.
    next: u64,
    /// Sent above QoS 0 and not yet acknowledged (PUBACK, PUBCOMP).
    in_flight: u32,
    packet_id: u16,
    /// Copies of sent messages that have not yet arrived, at QoS 0 in a closed loop.
    owed: u64,
    /// Whether it stands in `Publishers::ready`.
    listed: bool,
}

const _: () = assert!(size_of::<Publisher>() == 64);

/// All publishers and the schedule they follow.
#[derive(Debug)]
pub struct Publishers {
    run: u32,
    qos: u8,
    load: Load,
    copies: u64,
    publishers: Vec<Publisher>,
    /// One for each topic.
    templates: Vec<PublishTemplate>,
    /// Those that may have something to send.
    ready: Vec<u32>,
    /// Those in front of a server that does not read.
    blocked: Vec<u32>,
    start_us: u64,
    /// Messages due so far, of a rated test.
    due: u64,
    /// Of these, those that the loop came to see more than `LATE_US` after they were due.
    late: u64,
}

impl Publishers {
    /// The publishers of a plan; none is connected yet.
    pub fn new(plan: &Plan, run: u32) -> Self {
        let topics = plan.shape.topics(plan.publishers);
        let template = |topic| packets::template(&plan.shape.topic(topic), plan.qos, plan.size);
        let publisher = |stream| Publisher {
            token: None,
            template: stream % topics.max(1),
            next: 0,
            in_flight: 0,
            packet_id: 0,
            owed: 0,
            listed: false,
        };
        Self {
            run,
            qos: plan.qos,
            load: plan.load,
            copies: u64::from(plan.shape.copies(plan.subscribers)),
            publishers: (0..plan.publishers).map(publisher).collect(),
            templates: (0..topics).map(template).collect(),
            ready: Vec::new(),
            blocked: Vec::new(),
            start_us: 0,
            due: 0,
            late: 0,
        }
    }

    /// Publisher `stream` is connected by `token`.
    pub fn connected(&mut self, stream: u32, token: ConnectionToken) {
        self.publishers[stream as usize].token = Some(token);
    }

    /// From now on messages are due.
    pub fn start(&mut self, now_us: u64) {
        self.start_us = now_us;
        if matches!(self.load, Load::Closed { .. }) {
            (0..self.publishers.len() as u32).for_each(|stream| self.list(stream));
        }
    }

    #[inline]
    fn list(&mut self, stream: u32) {
        let publisher = &mut self.publishers[stream as usize];
        if !publisher.listed {
            publisher.listed = true;
            self.ready.push(stream);
        }
    }

    /// `messages` of the publisher's above QoS 0 are done with.
    #[inline]
    pub fn acknowledged(&mut self, stream: u32, messages: u32) {
        let publisher = &mut self.publishers[stream as usize];
        publisher.in_flight = publisher.in_flight.saturating_sub(messages);
        self.list(stream);
    }

    /// `copies` more of the publisher's messages have arrived, or were passed over by a later one.
    #[inline]
    pub fn delivered(&mut self, stream: u32, copies: u64) {
        if self.qos == 0 {
            let publisher = &mut self.publishers[stream as usize];
            publisher.owed = publisher.owed.saturating_sub(copies);
            self.list(stream);
        }
    }

    /// Gives up what is still owed: a closed loop at QoS 0 would wait forever for messages dropped at its end.
    pub fn write_off(&mut self) {
        self.publishers.iter_mut().for_each(|p| p.owed = 0);
        (0..self.publishers.len() as u32).for_each(|stream| self.list(stream));
    }

    /// Sends what may be sent now. Returns when the next message is due, of a rated test.
    pub fn send(&mut self, io: &mut Io, now_us: u64) -> Option<u64> {
        let next_due = self.fall_due(now_us);
        let mut ready = std::mem::take(&mut self.ready);
        let mut blocked = std::mem::take(&mut self.blocked);
        blocked.drain(..).chain(ready.drain(..)).for_each(|stream| self.send_of(io, stream, now_us));
        // Both are empty again; keeps the memory of the longer-lived one.
        self.ready = ready;
        let retry = (!self.blocked.is_empty()).then_some(now_us + 1_000);
        next_due.into_iter().chain(retry).min()
    }

    /// Lists the publishers whose messages fell due; returns when the next one does.
    fn fall_due(&mut self, now_us: u64) -> Option<u64> {
        let Load::Rated { .. } = self.load else { return None };
        let all_due = self.due_by(now_us);
        let due = all_due.min(self.due + TURN_MESSAGES_MAX);
        if now_us - self.start_us >= LATE_US {
            self.late += self.due_by(now_us - LATE_US).min(due).saturating_sub(self.due);
        }
        let publishers = self.publishers.len() as u64;
        for n in self.due..due.min(self.due + publishers) {
            self.list((n % publishers) as u32);
        }
        self.due = due;
        if due < all_due {
            return Some(now_us);
        }
        // One more, for `due_at` rounds down: a turn before the time would find nothing and wait for `PACE_US`.
        Some((self.due_at(due) + 1).max(now_us + PACE_US))
    }

    /// Messages of a rated test due at `at_us` or before.
    fn due_by(&self, at_us: u64) -> u64 {
        let Load::Rated { per_second } = self.load else { return 0 };
        ((at_us - self.start_us) as f64 * per_second / 1e6) as u64 + 1
    }

    /// When message `n` of the test is due.
    fn due_at(&self, n: u64) -> u64 {
        let Load::Rated { per_second } = self.load else { return 0 };
        self.start_us + (n as f64 * 1e6 / per_second) as u64
    }

    fn send_of(&mut self, io: &mut Io, stream: u32, now_us: u64) {
        let messages = self.may_send(stream);
        let publisher = &mut self.publishers[stream as usize];
        publisher.listed = false;
        let Some(token) = publisher.token.filter(|_| messages > 0) else { return };
        if io.buffered(token) > UNSENT_BYTES_MAX {
            self.publishers[stream as usize].listed = true;
            return self.blocked.push(stream);
        }
        let Some(output) = io.output(token) else { return };
        for _ in 0..messages {
            self.append(output.buffer(), stream, now_us);
        }
    }

    /// Messages publisher `stream` may send now.
    fn may_send(&self, stream: u32) -> u64 {
        let publisher = &self.publishers[stream as usize];
        match self.load {
            Load::Closed { window } => {
                let in_flight = if self.qos == 0 {
                    publisher.owed.div_ceil(self.copies)
                } else {
                    u64::from(publisher.in_flight)
                };
                let free = u64::from(window).saturating_sub(in_flight);
                if free < u64::from(window) / REFILL_PART { 0 } else { free }
            }
            Load::Rated { .. } => {
                let behind = self.due_of(stream).saturating_sub(publisher.next);
                behind.min(u64::from(RATED_IN_FLIGHT_MAX.saturating_sub(publisher.in_flight)))
            }
        }
    }

    /// How many of the messages due are publisher `stream`'s: message n of the test is publisher n mod P's.
    fn due_of(&self, stream: u32) -> u64 {
        let publishers = self.publishers.len() as u64;
        (self.due + publishers - 1).saturating_sub(u64::from(stream)) / publishers
    }

    #[inline]
    fn append(&mut self, output: &mut Vec<u8>, stream: u32, now_us: u64) {
        let sequence = self.publishers[stream as usize].next;
        let intended_us = match self.load {
            Load::Closed { .. } => now_us,
            Load::Rated { .. } => self.due_at(sequence * self.publishers.len() as u64 + u64::from(stream)),
        };
        let publisher = &mut self.publishers[stream as usize];
        publisher.next += 1;
        if self.qos == 0 {
            publisher.owed += self.copies;
        } else {
            publisher.in_flight += 1;
            publisher.packet_id = publisher.packet_id.checked_add(1).unwrap_or(1);
        }
        let stamp = Stamp { run: self.run, stream, sequence, intended_us };
        let template = &self.templates[publisher.template as usize];
        template.write(publisher.packet_id, &stamp.to_bytes(), output);
    }

    /// Messages publisher `stream` has sent.
    pub fn sent_by(&self, stream: u32) -> u64 {
        self.publishers[stream as usize].next
    }

    /// Messages sent by all.
    pub fn sent(&self) -> u64 {
        self.publishers.iter().map(|p| p.next).sum()
    }

    /// Messages that were due at `at_us` and could not be sent.
    pub fn unsent(&self, at_us: u64) -> u64 {
        self.due_by(at_us).saturating_sub(self.sent())
    }

    /// Messages of a rated test that left late because the harness came late.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Messages unacknowledged now, above QoS 0.
    pub fn in_flight(&self) -> u64 {
        self.publishers.iter().map(|p| u64::from(p.in_flight)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Overrides, named};

    fn publishers(name: &str, overrides: Overrides) -> Publishers {
        Publishers::new(&named(name).expect("known").plan(&overrides).expect("a plan"), 1)
    }

    fn appended(publishers: &mut Publishers, stream: u32) -> Stamp {
        let mut bytes = Vec::new();
        publishers.append(&mut bytes, stream, 77);
        Stamp::read(&bytes[bytes.len() - 128..]).expect("a stamp")
    }

    #[test]
    fn a_rated_test_gives_each_message_the_time_it_was_due_however_late_it_leaves() {
        let mut all = publishers("latency-q1", Overrides { clients: Some(4), ..Overrides::default() });
        all.start(1_000_000);
        assert_eq!(all.fall_due(1_009_999), Some(1_010_099));
        assert_eq!(all.ready, [0, 1, 2, 3]);
        assert_eq!((0..4).map(|s| all.due_of(s)).collect::<Vec<_>>(), [3, 3, 2, 2]);
        let times: Vec<_> = (0..3).map(|_| appended(&mut all, 1).intended_us).collect();
        assert_eq!(times, [1_001_000, 1_005_000, 1_009_000]);
        assert_eq!((all.may_send(1), all.unsent(1_009_999)), (0, 7));
    }

    #[test]
    fn a_low_rate_wakes_when_the_next_message_is_due() {
        let mut all = publishers("latency-q1", Overrides { rate: Some(10.0), ..Overrides::default() });
        all.start(5);
        assert_eq!(all.fall_due(5), Some(100_006));
        assert_eq!((all.ready.as_slice(), all.due), ([0].as_slice(), 1));
    }

    #[test]
    fn what_the_loop_looked_at_too_late_is_the_harnesss_fault() {
        let mut all = publishers("latency-q1", Overrides::default());
        all.start(0);
        all.fall_due(5_000);
        assert_eq!((all.due, all.late()), (6, 0));
        // Due at 6, 7 … 40 ms; those up to 30 ms more than 10 ms ago.
        all.fall_due(40_000);
        assert_eq!((all.due, all.late()), (41, 25));
    }

    #[test]
    fn a_loop_that_is_behind_catches_up_in_steps_and_counts_each_late_message_once() {
        let mut all = publishers("latency-q1", Overrides { rate: Some(1e6), ..Overrides::default() });
        all.start(0);
        assert_eq!((all.fall_due(11_999), all.due), (Some(11_999), 1_024));
        assert_eq!((all.fall_due(11_999), all.due, all.late()), (Some(11_999), 2_048, 2_000));
        (0..10).for_each(|_| assert!(all.fall_due(11_999).is_some()));
        assert_eq!((all.due, all.late(), all.unsent(11_999)), (12_000, 2_000, 12_000));
    }

    #[test]
    fn a_closed_loop_goes_on_when_a_quarter_of_its_window_is_free() {
        let mut all = publishers("pair-q1", Overrides { window: Some(8), ..Overrides::default() });
        (0..8).for_each(|n| assert_eq!(appended(&mut all, 0).sequence, n));
        all.acknowledged(0, 1);
        assert_eq!(all.may_send(0), 0);
        all.acknowledged(0, 1);
        assert_eq!(all.may_send(0), 2);
    }

    #[test]
    fn a_closed_loop_at_qos_0_waits_for_the_copies_it_is_owed() {
        let overrides = Overrides { clients: Some(3), window: Some(2), ..Overrides::default() };
        let mut all = publishers("fan-out-q0", overrides);
        all.start(0);
        assert_eq!(all.may_send(0), 2);
        (0..2).for_each(|_| assert_eq!(appended(&mut all, 0).intended_us, 77));
        assert_eq!(all.may_send(0), 0);
        all.delivered(0, 2);
        assert_eq!(all.may_send(0), 0);
        all.delivered(0, 1);
        assert_eq!(all.may_send(0), 1);
        all.write_off();
        assert_eq!(all.may_send(0), 2);
    }

    #[test]
    fn a_closed_loop_above_qos_0_waits_for_acknowledgements_alone() {
        let mut all = publishers("pair-q1", Overrides { window: Some(2), ..Overrides::default() });
        (0..2).for_each(|_| assert_eq!(appended(&mut all, 3).stream, 3));
        all.delivered(3, 2);
        assert_eq!((all.may_send(3), all.in_flight()), (0, 2));
        all.acknowledged(3, 1);
        assert_eq!((all.may_send(3), all.sent_by(3), all.sent()), (1, 2, 2));
    }

    #[test]
    fn packet_identifiers_go_round_without_zero() {
        let mut all = publishers("pair-q1", Overrides::default());
        all.publishers[0].packet_id = u16::MAX;
        appended(&mut all, 0);
        assert_eq!(all.publishers[0].packet_id, 1);
    }
}
