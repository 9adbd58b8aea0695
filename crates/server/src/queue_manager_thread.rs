//! One queue manager with its data, its listeners, and the loop that drives it.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use ferrymq_engine::Engine;
use ferrymq_message::Timestamp;
use ferrymq_mqtt::MqttService;
use ferrymq_transport::{Clock, IoThread, ListenerSettings, StartError, Waker};
use rustix::io::Errno;

use crate::Failure;
use crate::configuration::{Limits, Listener, QueueManager};
use crate::data_directory::DataDirectory;
use crate::greeting::Standing;
use crate::queue_manager_service::QueueManagerService;
use crate::settings;

/// A queue manager that has its data and its addresses, and is about to run on the thread that opened it.
pub struct QueueManagerThread {
    io_thread: IoThread<QueueManagerService>,
    stop: StopHandle,
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

impl QueueManagerThread {
    /// Opens data and listeners, and says how it stands.
    ///
    /// # Errors
    /// When data can't be read, or an address can't be listened on.
    pub fn open(
        queue_manager: &QueueManager,
        limits: &Limits,
        directory: &DataDirectory,
    ) -> Result<(Standing, QueueManagerThread), Failure> {
        let data = directory.of_queue_manager(&queue_manager.name)?;
        let (asked, waker) = (Arc::new(AtomicBool::new(false)), Arc::new(OnceLock::new()));
        let service = service(queue_manager, &data, asked.clone(), waker.clone())?;
        let mut io_thread = IoThread::new(settings::transport(limits, queue_manager), service)?;
        let stop = StopHandle { asked, waker: waker.get_or_init(|| io_thread.waker()).clone() };
        // The engine may have called while there was no waker yet.
        stop.waker.wake();
        let addresses = listen(&mut io_thread, queue_manager, limits)?;
        let protocols = queue_manager.listener.iter().map(|listener| listener.protocol);
        let standing = Standing {
            name: queue_manager.name.clone(),
            listeners: protocols.zip(addresses).collect(),
            durability: queue_manager.durability,
            data,
        };
        Ok((standing, QueueManagerThread { io_thread, stop }))
    }

    /// A way to stop it.
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// Serves until it is stopped, then closes the queue manager.
    ///
    /// # Errors
    /// When the loop or the engine fails.
    pub fn run(self) -> Result<(), Failure> {
        self.io_thread.run()?.close()?;
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

/// The engine with its data, and what stands in front of it. The engine wakes a loop that does not exist yet.
fn service(
    queue_manager: &QueueManager,
    data: &Path,
    stop_asked: Arc<AtomicBool>,
    waker: Arc<OnceLock<Waker>>,
) -> Result<QueueManagerService, Failure> {
    let now = Timestamp(Clock::start().now_ms());
    let wake = Arc::new(move || {
        if let Some(waker) = waker.get() {
            waker.wake();
        }
    });
    let engine = Engine::open(&settings::engine(queue_manager, data), now, wake)?;
    let mqtt = MqttService::new(settings::mqtt(queue_manager));
    Ok(QueueManagerService::new(engine, mqtt, now, stop_asked))
}

/// Opens the listeners and says where they really are, which for port 0 the system decides.
fn listen(
    io_thread: &mut IoThread<QueueManagerService>,
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
