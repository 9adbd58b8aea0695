//! A running server: its queue managers, each on a thread of its own, from the first to the last of them.

use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use tracing::{error, info};

use crate::Failure;
use crate::configuration::Configuration;
use crate::data_directory::DataDirectory;
use crate::greeting::{Greeting, Standing};
use crate::queue_manager_thread::{Prepared, StopHandle};
use crate::signal::StopSignals;

/// The queue managers of this process.
#[derive(Debug)]
pub struct Node {
    running: Vec<Running>,
    events: Receiver<Event>,
    sender: Sender<Event>,
}

#[derive(Debug)]
struct Running {
    standing: Standing,
    stop: StopHandle,
}

/// What the main thread waits for.
#[derive(Debug)]
enum Event {
    /// A signal to stop, by name.
    Signal(&'static str),
    /// A queue manager's thread is over, for a reason if it should not be.
    Ended { queue_manager: String, result: Result<(), String> },
}

impl Node {
    /// Starts every queue manager, or none.
    ///
    /// # Errors
    /// When data can't be read, or an address can't be listened on.
    pub fn start(configuration: &Configuration, directory: &DataDirectory) -> Result<Node, Failure> {
        let prepared = configuration
            .queue_manager
            .iter()
            .map(|queue_manager| Prepared::new(queue_manager, &configuration.limits, directory))
            .collect::<Result<Vec<_>, _>>()?;
        let (sender, events) = mpsc::channel();
        let running = prepared
            .into_iter()
            .map(|prepared| spawn(prepared, sender.clone()))
            .collect::<io::Result<_>>()?;
        Ok(Node { running, events, sender })
    }

    /// What to tell who started it.
    pub fn greeting(&self) -> Greeting {
        Greeting { queue_managers: self.running.iter().map(|running| running.standing.clone()).collect() }
    }

    /// Waits for a signal, then stops every queue manager and waits for its end. A second signal does not wait.
    ///
    /// # Errors
    /// When a queue manager failed; the others were stopped in order.
    pub fn run_until(self, signals: StopSignals) -> Result<(), Failure> {
        watch(signals, self.sender.clone())?;
        let mut left = self.running.len();
        let mut failure = None;
        let mut stopping = false;
        while left > 0 {
            match self.events.recv()? {
                Event::Signal(signal) if stopping => {
                    return Err(format!("{signal} again: stopped at once").into());
                }
                Event::Signal(signal) => info!(signal, "stopping"),
                Event::Ended { queue_manager, result } => {
                    left -= 1;
                    failure = failure.or(report(&queue_manager, result));
                }
            }
            if !stopping {
                stopping = true;
                self.running.iter().for_each(|running| running.stop.stop());
            }
        }
        failure.map_or(Ok(()), |failure| Err(failure.into()))
    }
}

fn spawn(prepared: Prepared, sender: Sender<Event>) -> io::Result<Running> {
    let running = Running { standing: prepared.standing(), stop: prepared.stop_handle() };
    let queue_manager = running.standing.name.clone();
    thread::Builder::new().name(queue_manager.clone()).spawn(move || {
        let result = prepared.run().map_err(|error| error.to_string());
        // Nobody listens once the process is ending anyway.
        let _ = sender.send(Event::Ended { queue_manager, result });
    })?;
    Ok(running)
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
            Some(format!("queue manager {queue_manager} failed: {reason}"))
        }
    }
}
