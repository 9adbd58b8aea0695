//! One queue manager with its listeners, its engine and the loop that drives both.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ferrymq_transport::{
    Closed, ConnectionToken, Io, IoThread, ListenerId, ListenerSettings, Service, Settings, StartError, Waker,
};
use rustix::io::Errno;

use crate::Failure;
use crate::configuration::{Limits, Listener, QueueManager};
use crate::data_directory::DataDirectory;
use crate::greeting::Standing;

/// A queue manager that has its data and its addresses, and is about to run.
pub struct Prepared {
    io_thread: IoThread<Unattended>,
    stop: StopHandle,
    standing: Standing,
}

/// Stops a queue manager from another thread.
#[derive(Clone, Debug)]
pub struct StopHandle {
    asked: Arc<AtomicBool>,
    waker: Waker,
}

/// An address that can't be listened on.
#[derive(Debug, thiserror::Error)]
#[error("queue manager {queue_manager} cannot listen on {address}: {}", advice(*.errno, *.address))]
pub struct ListenError {
    queue_manager: String,
    address: SocketAddr,
    errno: Errno,
}

impl Prepared {
    /// Opens data and listeners.
    ///
    /// # Errors
    /// When data can't be read, or an address can't be listened on.
    pub fn new(
        queue_manager: &QueueManager,
        limits: &Limits,
        directory: &DataDirectory,
    ) -> Result<Prepared, Failure> {
        let data = directory.of_queue_manager(&queue_manager.name)?;
        let asked = Arc::new(AtomicBool::new(false));
        let service = Unattended { asked: asked.clone() };
        let mut io_thread = IoThread::new(transport_settings(limits, queue_manager), service)?;
        let addresses = listen(&mut io_thread, queue_manager, limits)?;
        let stop = StopHandle { asked, waker: io_thread.waker() };
        Ok(Prepared { stop, io_thread, standing: standing(queue_manager, addresses, data) })
    }

    /// How it stands, for the greeting.
    pub fn standing(&self) -> Standing {
        self.standing.clone()
    }

    /// A way to stop it.
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// Serves until it is stopped.
    ///
    /// # Errors
    /// When the loop or the engine fails.
    pub fn run(self) -> Result<(), Failure> {
        self.io_thread.run()?;
        Ok(())
    }
}

impl StopHandle {
    /// Asks for an end in order; does not wait for it.
    pub fn stop(&self) {
        self.asked.store(true, Ordering::Release);
        self.waker.wake();
    }
}

/// Stands in for the MQTT service until that is there: closes every connection.
struct Unattended {
    asked: Arc<AtomicBool>,
}

impl Service for Unattended {
    fn accepted(&mut self, io: &mut Io, id: ConnectionToken, _listener: ListenerId) {
        io.close(id);
    }

    fn received(&mut self, _io: &mut Io, _id: ConnectionToken, input: &[u8]) -> usize {
        input.len()
    }

    fn closed(&mut self, _io: &mut Io, _id: ConnectionToken, _cause: Closed) {}

    fn woken(&mut self, io: &mut Io) {
        if self.asked.load(Ordering::Acquire) {
            io.stop();
        }
    }
}

fn transport_settings(limits: &Limits, queue_manager: &QueueManager) -> Settings {
    Settings {
        connections_max: limits.connections as usize,
        accepts_per_s: Some(limits.connect_rate_per_s).filter(|rate| *rate > 0),
        partial_bytes_max: queue_manager.mqtt.max_packet_size as usize,
        output_bytes_max: limits.output_per_connection as usize,
        pool_bytes_max: limits.buffer_pool as usize,
        linger_ms: limits.linger_ms,
        ..Settings::default()
    }
}

/// Opens the listeners and says where they really are, which for port 0 the system decides.
fn listen(
    io_thread: &mut IoThread<Unattended>,
    queue_manager: &QueueManager,
    limits: &Limits,
) -> Result<Vec<SocketAddr>, Failure> {
    let backlog = i32::try_from(limits.listen_backlog).unwrap_or(i32::MAX);
    let mut open = |listener: &Listener| -> Result<SocketAddr, Failure> {
        let settings = ListenerSettings { backlog, ..ListenerSettings::new(listener.address) };
        let id = io_thread.listen(settings).map_err(|error| listen_error(queue_manager, error))?;
        Ok(io_thread.local_addr(id).unwrap_or(listener.address))
    };
    queue_manager.listener.iter().map(&mut open).collect()
}

fn listen_error(queue_manager: &QueueManager, error: StartError) -> Failure {
    match error {
        StartError::Listen { address, errno } => {
            ListenError { queue_manager: queue_manager.name.clone(), address, errno }.into()
        }
        other => other.into(),
    }
}

fn advice(errno: Errno, address: SocketAddr) -> String {
    let other_port = SocketAddr::new(address.ip(), if address.port() == 1883 { 1884 } else { 1883 });
    match errno {
        Errno::ADDRINUSE => format!(
            "another program does (see it with: ss -ltnp 'sport = :{}'). Stop it, or listen elsewhere, for example \
             with --listen mqtt={other_port}",
            address.port()
        ),
        Errno::ACCESS => "the system reserves ports below 1024; choose a higher one".into(),
        Errno::ADDRNOTAVAIL => "this machine has no such address (ip addr shows those it has)".into(),
        errno => errno.to_string(),
    }
}

fn standing(queue_manager: &QueueManager, addresses: Vec<SocketAddr>, data: PathBuf) -> Standing {
    let protocols = queue_manager.listener.iter().map(|listener| listener.protocol);
    Standing {
        name: queue_manager.name.clone(),
        listeners: protocols.zip(addresses).collect(),
        durability: queue_manager.durability,
        data,
    }
}
