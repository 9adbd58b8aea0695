//! A running server: its queue managers, each on a thread of its own, from the first to the last of them.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use tracing::{error, info};

use crate::Failure;
use crate::configuration::{Configuration, Limits, QueueManager};
use crate::data_directory::DataDirectory;
use crate::greeting::{Greeting, Standing};
use crate::queue_manager_thread::{QueueManagerThread, StopHandle};
use crate::signal::StopSignals;

/// The queue managers of this process. Dropped before [`Node::run`], none of them has served anybody.
#[derive(Debug)]
pub struct Node {
    ready: Vec<Ready>,
    events: Receiver<Event>,
}

/// A queue manager that has its data and its addresses.
#[derive(Debug)]
struct Ready {
    /// Its place in the configuration.
    index: usize,
    standing: Standing,
    stop: StopHandle,
    go: Sender<Go>,
}

/// Lets a queue manager run; where none comes, it ends.
#[derive(Debug)]
struct Go;

/// What the main thread waits for.
#[derive(Debug)]
enum Event {
    /// A signal to stop, by name.
    Signal(&'static str),
    /// A queue manager can run.
    Ready(Ready),
    /// A queue manager's thread is over, for a reason if it should not be.
    Ended { queue_manager: String, result: Result<(), String> },
}

impl Node {
    /// Starts every queue manager, side by side since each may have a log to read, or none. `None` if a signal to
    /// stop came first.
    ///
    /// # Errors
    /// When data can't be read, or an address can't be listened on.
    pub fn start(
        configuration: &Configuration,
        directory: &Arc<DataDirectory>,
        signals: StopSignals,
    ) -> Result<Option<Node>, Failure> {
        let (sender, events) = mpsc::channel();
        watch(signals, sender.clone())?;
        for (index, queue_manager) in configuration.queue_manager.iter().enumerate() {
            let limits = configuration.limits.clone();
            spawn(index, queue_manager.clone(), limits, directory.clone(), sender.clone())?;
        }
        let mut ready = Vec::new();
        while ready.len() < configuration.queue_manager.len() {
            match events.recv()? {
                Event::Ready(one) => ready.push(one),
                Event::Ended { result, .. } => return Err(result.err().unwrap_or_default().into()),
                Event::Signal(_) => return Ok(None),
            }
        }
        ready.sort_by_key(|one| one.index);
        Ok(Some(Node { ready, events }))
    }

    /// What to tell who started it.
    pub fn greeting(&self) -> Greeting {
        Greeting { queue_managers: self.ready.iter().map(|one| one.standing.clone()).collect() }
    }

    /// Runs until a signal comes or a queue manager fails, then stops every queue manager and waits for its end. A
    /// second signal does not wait.
    ///
    /// # Errors
    /// When a queue manager failed; the others were stopped in order.
    pub fn run(self) -> Result<(), Failure> {
        self.ready.iter().try_for_each(|one| one.go.send(Go))?;
        let mut left = self.ready.len();
        let mut failure = None;
        let mut stopping = false;
        while left > 0 {
            match self.events.recv()? {
                Event::Signal(signal) if stopping => {
                    return Err(format!("{signal} again: ended without waiting for the rest").into());
                }
                Event::Signal(signal) => info!(signal, "stopping"),
                Event::Ready(_) => continue,
                Event::Ended { queue_manager, result } => {
                    left -= 1;
                    failure = failure.or(report(&queue_manager, result));
                }
            }
            if !stopping {
                stopping = true;
                self.ready.iter().for_each(|one| one.stop.stop());
            }
        }
        failure.map_or(Ok(()), |failure| Err(failure.into()))
    }
}

fn spawn(
    index: usize,
    queue_manager: QueueManager,
    limits: Limits,
    directory: Arc<DataDirectory>,
    events: Sender<Event>,
) -> io::Result<()> {
    thread::Builder::new().name(queue_manager.name.clone()).spawn(move || {
        let result = live(index, &queue_manager, &limits, &directory, &events);
        let result = result.map_err(|error| error.to_string());
        // Nobody listens once the process is ending anyway.
        let _ = events.send(Event::Ended { queue_manager: queue_manager.name, result });
    })?;
    Ok(())
}

/// The life of a queue manager's thread.
fn live(
    index: usize,
    queue_manager: &QueueManager,
    limits: &Limits,
    directory: &DataDirectory,
    events: &Sender<Event>,
) -> Result<(), Failure> {
    let (standing, thread) = QueueManagerThread::open(queue_manager, limits, directory)?;
    let (go, gone) = mpsc::channel();
    events.send(Event::Ready(Ready { index, standing, stop: thread.stop_handle(), go }))?;
    match gone.recv() {
        Ok(Go) => thread.run(),
        Err(_) => Ok(()),
    }
}

fn watch(signals: StopSignals, sender: Sender<Event>) -> io::Result<()> {
    let watcher = thread::Builder::new().name("signals".into());
    watcher.spawn(move || while sender.send(Event::Signal(signals.wait())).is_ok() {})?;
    Ok(())
}

/// Logs how a queue manager ended; the failure, if it was one.
fn report(queue_manager: &str, result: Result<(), String>) -> Option<String> {
    match result {
        Ok(()) => {
            info!(queue_manager, "closed");
            None
        }
        Err(reason) => {
            error!(queue_manager, %reason, "failed");
            Some(reason)
        }
    }
}
