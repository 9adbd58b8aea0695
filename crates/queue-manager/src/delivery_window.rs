//! The deliveries of a client session that are not settled yet, in the order in which they are, or will be, sent.
//!
//! ```text
//!   Assigned ──send──▶ Sent ──PUBACK──────────────────────▶ done          QoS 1
//!   Assigned ──send──▶ Sent ──PUBREC──▶ Received ──PUBCOMP──▶ done         QoS 2 (the message is dropped at PUBREC)
//! ```
//! Tags are given in sequence, so the place of a tag follows from the first one's: settling is O(1) in any order.

use alloc::collections::VecDeque;

use ferrymq_message::QoS;

use crate::queue_entry::{Entry, Sequence};
use crate::{DeliveryTag, Position};

/// Tags run from 1 to this (MQTT-2.2.1-3), and so many deliveries at most lie between the oldest unsettled and the
/// youngest.
pub(crate) const LAST_TAG: u16 = u16::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeliveryStage {
    /// Has its tag, waits to be sent: not before the position is durable.
    Assigned { ready_at: Position },
    /// Sent on this connection.
    Sent,
    /// The receiver has it and was told, or will be told, to release the tag.
    Received,
}

#[derive(Debug)]
pub(crate) struct Unsettled {
    pub tag: DeliveryTag,
    pub stage: DeliveryStage,
    /// Sent on an earlier connection.
    pub repeated: bool,
    pub entry: Entry,
}

#[derive(Debug, Default)]
pub(crate) struct DeliveryWindow {
    /// `None` where a delivery was settled before older ones. Never `None` at the front.
    deliveries: VecDeque<Option<Unsettled>>,
    /// Tag of the front delivery, or of the next one while there is none; 0 means 1.
    first_tag: u16,
    /// Deliveries that are not `None`.
    unsettled: u16,
    /// `0 <= unsent <= deliveries.len()`: the places from the back that were not sent on this connection.
    unsent: u16,
    /// `0 <= in_flight <= unsettled`: those that are `Sent` or `Received`; what the receive maximum bounds.
    in_flight: u16,
    /// What the messages of those take.
    in_flight_bytes: u32,
}

impl DeliveryWindow {
    pub fn len(&self) -> usize {
        usize::from(self.unsettled)
    }

    pub fn has_unsent(&self) -> bool {
        self.unsent > 0
    }

    /// Whether the next delivery to send waits for its record.
    pub fn waits_for_record(&self, durable: Position) -> bool {
        let unsent = self.deliveries.iter().skip(self.deliveries.len() - usize::from(self.unsent)).flatten();
        let next = unsent.into_iter().find_map(|delivery| match delivery.stage {
            DeliveryStage::Assigned { ready_at } => Some(ready_at),
            _ => None,
        });
        next.is_some_and(|ready_at| ready_at > durable)
    }

    /// Whether another delivery may get a tag, with `receive_maximum` unsettled ones allowed.
    pub fn has_room(&self, receive_maximum: u16) -> bool {
        self.unsettled < receive_maximum && self.deliveries.len() < usize::from(LAST_TAG)
    }

    /// The tag that the next delivery gets.
    pub fn next_tag(&self) -> DeliveryTag {
        DeliveryTag(tag_after(self.first_tag.max(1), self.deliveries.len()))
    }

    /// Gives an entry its tag; it is sent once `ready_at` is durable. The caller has seen that there is room.
    pub fn assign(&mut self, entry: Entry, ready_at: Position) -> DeliveryTag {
        let tag = self.next_tag();
        self.first_tag = self.first_tag.max(1);
        let stage = DeliveryStage::Assigned { ready_at };
        let repeated = entry.delivery.redelivered;
        self.deliveries.push_back(Some(Unsettled { tag, stage, repeated, entry }));
        self.unsettled += 1;
        self.unsent += 1;
        tag
    }

    /// Whether another message may be sent, with so many bytes unacknowledged allowed: one may always.
    pub fn has_room_in_flight(&self, bytes_max: u32) -> bool {
        self.in_flight == 0 || self.in_flight_bytes < bytes_max
    }

    /// The next delivery to send if its record is durable, fewer than `receive_maximum` are in flight and they take less
    /// than `bytes_max`; it counts as sent from here on.
    pub fn next_to_send(
        &mut self,
        durable: Position,
        receive_maximum: u16,
        bytes_max: u32,
    ) -> Option<&mut Unsettled> {
        while self.unsent > 0 {
            let at = self.deliveries.len() - usize::from(self.unsent);
            match &self.deliveries[at] {
                Some(Unsettled { stage: DeliveryStage::Assigned { ready_at }, .. })
                    if *ready_at > durable =>
                {
                    return None;
                }
                Some(Unsettled { stage: DeliveryStage::Assigned { .. }, .. }) => {
                    if self.in_flight >= receive_maximum || !self.has_room_in_flight(bytes_max) {
                        return None;
                    }
                    self.unsent -= 1;
                    self.in_flight += 1;
                    let delivery = self.deliveries[at].as_mut()?;
                    self.in_flight_bytes = self.in_flight_bytes.saturating_add(delivery.entry.size);
                    delivery.stage = DeliveryStage::Sent;
                    return Some(delivery);
                }
                _ => self.unsent -= 1,
            }
        }
        None
    }

    pub fn get_mut(&mut self, tag: DeliveryTag) -> Option<&mut Unsettled> {
        let at = self.place_of(tag)?;
        self.deliveries.get_mut(at)?.as_mut()
    }

    /// Whether this delivery was sent on an earlier connection and waits to be sent again.
    pub fn will_repeat(&self, tag: DeliveryTag) -> bool {
        let delivery = self.place_of(tag).and_then(|at| self.deliveries.get(at)?.as_ref());
        delivery.is_some_and(|delivery| delivery.repeated && !delivery.is_in_flight())
    }

    /// Takes note that the receiver has a QoS 2 message; true if that is news. `None` where nothing can be received:
    /// there is no such delivery, or it was not sent on this connection.
    pub fn receive(&mut self, tag: DeliveryTag) -> Option<(Sequence, bool)> {
        let delivery =
            self.get_mut(tag).filter(|delivery| delivery.entry.delivery.qos == QoS::ExactlyOnce)?;
        let is_news = match delivery.stage {
            DeliveryStage::Assigned { .. } => return None,
            DeliveryStage::Sent => true,
            DeliveryStage::Received => false,
        };
        delivery.stage = DeliveryStage::Received;
        Some((delivery.entry.sequence, is_news))
    }

    /// Ends a delivery and gives it back.
    pub fn settle(&mut self, tag: DeliveryTag) -> Option<Unsettled> {
        let at = self.place_of(tag)?;
        let settled = self.deliveries.get_mut(at)?.take()?;
        self.unsettled -= 1;
        if settled.is_in_flight() {
            self.in_flight -= 1;
            self.in_flight_bytes = self.in_flight_bytes.saturating_sub(settled.entry.size);
        }
        self.drop_settled_front();
        Some(settled)
    }

    /// The connection is gone: everything is to be sent again, in the original order (MQTT-4.6.0-1).
    pub fn rewind(&mut self) {
        for delivery in self.deliveries.iter_mut().flatten() {
            if delivery.stage == DeliveryStage::Sent {
                delivery.stage = DeliveryStage::Assigned { ready_at: delivery.entry.position };
                delivery.repeated = true;
            }
        }
        self.unsent = self.deliveries.len() as u16;
        self.count_in_flight();
    }

    pub fn iter(&self) -> impl Iterator<Item = &Unsettled> {
        self.deliveries.iter().flatten()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Unsettled> {
        self.deliveries.iter_mut().flatten()
    }

    /// Whether the counters say what is there.
    pub fn is_consistent(&self) -> bool {
        let in_flight = self.iter().filter(|delivery| delivery.is_in_flight()).count();
        self.iter().count() == usize::from(self.unsettled)
            && in_flight == usize::from(self.in_flight)
            && usize::from(self.unsent) <= self.deliveries.len()
            && !matches!(self.deliveries.front(), Some(None))
    }

    /// Takes up a delivery of before a restart, whose tag its receiver knows. Called in the order of sending. Gives
    /// it back if its tag does not lie behind those taken up so far.
    pub fn restore(&mut self, delivery: Unsettled) -> Result<(), Unsettled> {
        if self.deliveries.is_empty() {
            self.first_tag = delivery.tag.0.max(1);
        }
        let place = self.place_of_any(delivery.tag).filter(|place| *place >= self.deliveries.len());
        let Some(place) = place else { return Err(delivery) };
        if delivery.is_in_flight() {
            self.in_flight += 1;
            self.in_flight_bytes = self.in_flight_bytes.saturating_add(delivery.entry.size);
        }
        self.deliveries.resize_with(place, || None);
        self.deliveries.push_back(Some(delivery));
        self.unsettled += 1;
        self.unsent = self.deliveries.len() as u16;
        Ok(())
    }

    /// Takes out all deliveries, oldest first.
    pub fn drain(&mut self) -> impl Iterator<Item = Unsettled> {
        self.first_tag = self.next_tag().0;
        self.unsettled = 0;
        self.unsent = 0;
        (self.in_flight, self.in_flight_bytes) = (0, 0);
        core::mem::take(&mut self.deliveries).into_iter().flatten()
    }

    fn count_in_flight(&mut self) {
        let in_flight = self.iter().filter(|delivery| delivery.is_in_flight());
        let (count, bytes) = in_flight.fold((0, 0u32), |(count, bytes), delivery| {
            (count + 1, bytes.saturating_add(delivery.entry.size))
        });
        (self.in_flight, self.in_flight_bytes) = (count, bytes);
    }

    fn place_of(&self, tag: DeliveryTag) -> Option<usize> {
        self.place_of_any(tag).filter(|place| *place < self.deliveries.len())
    }

    /// How far behind the first tag a tag lies, in the circle of 65,535 tags.
    fn place_of_any(&self, tag: DeliveryTag) -> Option<usize> {
        if tag.0 == 0 {
            return None;
        }
        let first = i32::from(self.first_tag.max(1));
        Some((i32::from(tag.0) - first).rem_euclid(i32::from(LAST_TAG)) as usize)
    }

    fn drop_settled_front(&mut self) {
        while let Some(None) = self.deliveries.front() {
            self.deliveries.pop_front();
            self.first_tag = tag_after(self.first_tag, 1);
        }
        self.unsent = self.unsent.min(self.deliveries.len() as u16);
        if self.deliveries.is_empty() && self.deliveries.capacity() > 64 {
            self.deliveries = VecDeque::new();
        }
    }
}

impl Unsettled {
    /// On this connection or an earlier one.
    pub fn may_have_been_sent(&self) -> bool {
        self.repeated || self.is_in_flight()
    }

    /// The receiver was sent it, or has told that it has it.
    fn is_in_flight(&self) -> bool {
        !matches!(self.stage, DeliveryStage::Assigned { .. })
    }
}

fn tag_after(tag: u16, steps: usize) -> u16 {
    ((usize::from(tag) - 1 + steps) % usize::from(LAST_TAG)) as u16 + 1
}

#[cfg(test)]
#[path = "delivery_window_tests.rs"]
mod tests;
