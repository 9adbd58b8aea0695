//! Publishers do not run away from a subscriber that is at work: while its queue in memory is deep, confirmations of
//! what goes there are delayed, so that publishers with a window send no faster than it takes. Bounded: a subscriber
//! that acknowledges nothing delays nobody, and no confirmation is delayed for longer than the limit.

use alloc::collections::VecDeque;

use ferrymq_message::Timestamp;

use crate::queue_manager::{QueueManager, Turn};
use crate::record::QueueId;
use crate::session_table::SessionKey;
use crate::{ConnectionId, Effect, Position};

/// Confirmations that wait, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Pacing {
    waiting: VecDeque<Paced>,
    /// The deep queue that the message being distributed met.
    pub met: Option<DeepQueue>,
}

/// A queue that is deeper than the limit, of a subscriber that is at work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeepQueue {
    session: SessionKey,
    queue: QueueId,
}

#[derive(Debug)]
struct Paced {
    publisher: SessionKey,
    connection: ConnectionId,
    effect: Effect,
    after: Position,
    waits_for: Option<DeepQueue>,
    until: Timestamp,
}

impl QueueManager {
    /// Notes that a message was queued behind others for this session.
    pub(crate) fn note_depth(&mut self, key: SessionKey, now: Timestamp) {
        let session = &self.sessions[key];
        let Some(outgoing) = &session.outgoing else { return };
        let is_at_work = now.ms_since(outgoing.settled_at) < u64::from(self.limits.pacing_ms);
        if is_at_work && session.live().is_some() && outgoing.queue.len() > self.limits.pacing_depth as usize
        {
            self.pacing.met = Some(DeepQueue { session: key, queue: session.queue });
        }
    }

    /// Sends a confirmation, or has it wait for the deep queue that its message met, or behind one of the same
    /// publisher that waits.
    pub(crate) fn answer_paced(
        &mut self,
        publisher: SessionKey,
        after: Position,
        effect: Effect,
        turn: &mut Turn<'_>,
    ) {
        let waits_for = self.pacing.met.take();
        let session = &mut self.sessions[publisher];
        let Some(connection) = session.connection else { return };
        if waits_for.is_none() && session.paced == 0 {
            return self.answer(publisher, after, effect, turn);
        }
        session.paced += 1;
        let until = turn.now.plus_ms(u64::from(self.limits.pacing_ms));
        self.pacing.waiting.push_back(Paced { publisher, connection, effect, after, waits_for, until });
    }

    /// Sends the confirmations that need not wait any longer.
    pub(crate) fn release_paced(&mut self, turn: &mut Turn<'_>) {
        while let Some(first) = self.pacing.waiting.front() {
            if first.until > turn.now && first.waits_for.is_some_and(|deep| self.is_still_deep(deep)) {
                return;
            }
            let Some(paced) = self.pacing.waiting.pop_front() else { return };
            if self.sessions.by_connection(paced.connection) == Some(paced.publisher) {
                self.sessions[paced.publisher].paced -= 1;
                self.answer(paced.publisher, paced.after, paced.effect, turn);
            }
        }
    }

    /// Half of the limit: released ones come in numbers, and do not meet the limit again at once.
    fn is_still_deep(&self, deep: DeepQueue) -> bool {
        let session = self.sessions.get(deep.session).filter(|session| session.queue == deep.queue);
        session
            .filter(|session| session.live().is_some())
            .and_then(|session| session.outgoing.as_ref())
            .is_some_and(|outgoing| outgoing.queue.len() > self.limits.pacing_depth as usize / 2)
    }

    pub(crate) fn next_paced(&self) -> Option<Timestamp> {
        self.pacing.waiting.front().map(|paced| paced.until)
    }
}
