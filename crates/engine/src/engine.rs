//! The engine: one queue manager, its log, and the effects that wait for it.

use std::collections::VecDeque;
use std::sync::Arc;

use ferrymq_message::Timestamp;
use ferrymq_queue_manager::{Command, Effect, Outbox, Position, QueueManager, Statistics};

use crate::journal::{LogJournal, NoJournal};
use crate::randomness::random_bits;
use crate::settings::{Durability, EngineError, EngineSettings};

/// Runs one queue manager. Not shared: its owner's thread takes the turns.
pub struct Engine {
    queue_manager: QueueManager,
    journal: Journal,
    held: VecDeque<(Position, Effect)>,
    outbox: Outbox,
}

enum Journal {
    None(NoJournal),
    Log(Box<LogJournal>),
}

impl Engine {
    /// Opens the queue manager in its directory, or creates it there. `wake` is called from another thread whenever
    /// a turn would find more records durable.
    pub fn open(
        settings: &EngineSettings,
        now: Timestamp,
        wake: Arc<dyn Fn() + Send + Sync>,
    ) -> Result<Engine, EngineError> {
        let seed =
            random_bits().map_err(|source| EngineError::Random { name: settings.name.clone(), source })?;
        let (queue_manager, journal) = match settings.durability {
            Durability::Memory => {
                (QueueManager::in_memory(settings.limits.clone(), seed), Journal::None(NoJournal))
            }
            Durability::Fsync => {
                let (queue_manager, journal) = LogJournal::open(settings, now, seed, wake)?;
                (queue_manager, Journal::Log(Box::new(journal)))
            }
        };
        Ok(Engine { queue_manager, journal, held: VecDeque::new(), outbox: Outbox::default() })
    }

    /// Takes a turn: what became durable is released, then the commands are applied in order and their records handed
    /// to the log. The commands are gone afterwards; the effects are in the outbox that is returned, until the next
    /// turn.
    ///
    /// # Errors
    /// The log failed: the queue manager has stopped, and no effect of this turn may leave.
    pub fn turn(&mut self, now: Timestamp, commands: &mut Vec<Command>) -> Result<&mut Outbox, EngineError> {
        self.outbox.effects.clear();
        self.outbox.targets.clear();
        let Engine { queue_manager, journal, held, outbox } = self;
        match journal {
            Journal::None(journal) => {
                queue_manager.durable(Position::EVERYTHING, now, journal, outbox);
                commands.drain(..).for_each(|command| queue_manager.apply(command, now, journal, outbox));
                queue_manager.handle_timeout(now, journal, outbox);
            }
            Journal::Log(journal) => {
                journal.take_completions(now)?;
                queue_manager.set_storage_full(journal.is_short());
                release(held, journal.durable(), outbox);
                queue_manager.durable(journal.durable(), now, &mut **journal, outbox);
                commands
                    .drain(..)
                    .for_each(|command| queue_manager.apply(command, now, &mut **journal, outbox));
                queue_manager.handle_timeout(now, &mut **journal, outbox);
                held.extend(outbox.held.drain(..));
                journal.reclaim(queue_manager)?;
                journal.flush(now)?;
            }
        }
        Ok(outbox)
    }

    /// True while so much waits for the disk that no more should be taken in. A wake-up follows.
    pub fn is_full(&self) -> bool {
        match &self.journal {
            Journal::None(_) => false,
            Journal::Log(journal) => journal.is_full(),
        }
    }

    /// When a turn is due though nothing happens.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        let retry = match &self.journal {
            Journal::None(_) => None,
            Journal::Log(journal) => journal.next_timeout(),
        };
        self.queue_manager.next_timeout().into_iter().chain(retry).min()
    }

    /// What the queue manager counts.
    pub fn statistics(&self) -> Statistics {
        self.queue_manager.statistics()
    }

    /// Bytes of log on the disk, spare extents not counted; 0 without a log.
    pub fn log_bytes(&self) -> u64 {
        match &self.journal {
            Journal::None(_) => 0,
            Journal::Log(journal) => journal.bytes(),
        }
    }

    /// Ends the queue manager: everything appended is made durable. Effects that waited for it are not released.
    ///
    /// # Errors
    /// The log failed; what was acknowledged is durable all the same.
    pub fn close(self) -> Result<(), EngineError> {
        match self.journal {
            Journal::None(_) => Ok(()),
            Journal::Log(journal) => journal.close(),
        }
    }
}

fn release(held: &mut VecDeque<(Position, Effect)>, durable: Position, outbox: &mut Outbox) {
    while let Some((position, _)) = held.front()
        && *position <= durable
    {
        outbox.effects.extend(held.pop_front().map(|(_, effect)| effect));
    }
}
