//! The threads that perform a log's tasks.
//!
//! Blocks are written by a thread of their own, one after another. Extents are created, recycled and removed by a
//! second one, so that no block waits while 64 MiB of zeros are written.

use crate::scheduling::prefer_short_slice;
use ferrymq_recovery_log::{Disk, DiskError, DiskFault, Task};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

/// Tasks that wait for a thread. The log hands out fewer (its writes in flight, and one preparation).
const MAILBOX: usize = 16;

/// A task that came back.
#[derive(Debug)]
pub struct Done {
    /// What was to be done: goes back to the log.
    pub task: Task,
    /// What became of it.
    pub result: Result<(), DiskError>,
}

/// The two threads of one log. Dropping it waits for what was submitted.
///
/// After a write failed nothing is written any more: every later task comes back as [`DiskFault::Stopped`].
#[derive(Debug)]
pub struct LogWriter {
    writes: Lane,
    preparations: Lane,
    returns: Arc<Returns>,
}

/// What the threads share with whoever submits.
struct Returns {
    done: Mutex<Vec<Done>>,
    stopped: AtomicBool,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for Returns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Returns").field("stopped", &self.stopped).finish_non_exhaustive()
    }
}

impl LogWriter {
    /// Starts the threads. `name` tells queue managers apart in a list of threads; `wake` is called from them after
    /// each task.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn start<D>(disk: Arc<D>, name: &str, wake: Box<dyn Fn() + Send + Sync>) -> io::Result<LogWriter>
    where
        D: Disk + Send + Sync + 'static,
    {
        let returns = Arc::new(Returns { done: Mutex::default(), stopped: AtomicBool::new(false), wake });
        let writes = Lane::start(format!("log {name}"), disk.clone(), returns.clone())?;
        let preparations = Lane::start(format!("ext {name}"), disk, returns.clone())?;
        Ok(LogWriter { writes, preparations, returns })
    }

    /// Gives a task to its thread. It comes back through [`take_done`](Self::take_done), whatever happens.
    pub fn submit(&self, task: Task) {
        let lane = match task {
            Task::Write(_) => &self.writes,
            Task::Prepare(_) => &self.preparations,
        };
        if let Some(task) = lane.send(task) {
            self.returns.give(task, Err(stopped()));
        }
    }

    /// Appends to `into` what came back since the last call; writes in the order of submission.
    pub fn take_done(&self, into: &mut Vec<Done>) {
        into.append(&mut self.returns.done.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Returns {
    fn give(&self, task: Task, result: Result<(), DiskError>) {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).push(Done { task, result });
        (self.wake)();
    }

    fn perform(&self, task: &Task, disk: &impl Disk) -> Result<(), DiskError> {
        if self.stopped.load(Ordering::Acquire) {
            return Err(stopped());
        }
        let result = task.perform(disk);
        if let (Err(error), Task::Write(_)) = (&result, task) {
            self.stopped.store(true, Ordering::Release);
            tracing::error!(%error, "recovery log write failed: nothing more is written");
        }
        result
    }
}

/// A thread with its mailbox.
#[derive(Debug)]
struct Lane {
    /// `None` only while it is being dropped.
    tasks: Option<SyncSender<Task>>,
    thread: Option<JoinHandle<()>>,
}

impl Lane {
    fn start<D>(name: String, disk: Arc<D>, returns: Arc<Returns>) -> io::Result<Lane>
    where
        D: Disk + Send + Sync + 'static,
    {
        let (tasks, mailbox) = sync_channel(MAILBOX);
        let body = move || {
            prefer_short_slice(std::thread::current().name().unwrap_or("log"));
            work(&mailbox, &*disk, &returns);
        };
        // The kernel keeps 15 bytes of a thread's name.
        let thread = Builder::new().name(name).stack_size(256 << 10).spawn(body)?;
        Ok(Lane { tasks: Some(tasks), thread: Some(thread) })
    }

    /// Returns the task where the thread is gone.
    fn send(&self, task: Task) -> Option<Task> {
        match &self.tasks {
            Some(tasks) => tasks.send(task).err().map(|refused| refused.0),
            None => Some(task),
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.tasks = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was reported when it happened.
            let _ = thread.join();
        }
    }
}

fn work(mailbox: &Receiver<Task>, disk: &impl Disk, returns: &Returns) {
    for task in mailbox {
        let result = returns.perform(&task, disk);
        returns.give(task, result);
    }
}

fn stopped() -> DiskError {
    DiskError { fault: DiskFault::Stopped, what: "not written: an earlier write of this log failed".into() }
}

#[cfg(test)]
mod tests;
