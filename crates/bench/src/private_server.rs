//! A server started for one run: free ports, its own directory, stopped and cleared away afterwards.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::process::Pid;
use crate::product::{Place, Product, ProductError};

const START_MAX: Duration = Duration::from_secs(30);
const STOP_MAX: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(10);

/// A running server; dropped, it is killed and its directory removed.
#[derive(Debug)]
pub struct PrivateServer {
    child: Child,
    place: Place,
    name: &'static str,
}

/// Why there is no private server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The program.
    #[error(transparent)]
    Product(#[from] ProductError),
    /// Directory, ports or process.
    #[error("cannot start a private server: {0}")]
    System(#[from] io::Error),
    /// It ended or did not listen.
    #[error("{name} {what}; it said:\n{log}")]
    Silent {
        /// Which server.
        name: &'static str,
        /// What happened.
        what: String,
        /// The end of its output.
        log: String,
    },
}

impl PrivateServer {
    /// Starts `product` and waits until it listens.
    ///
    /// # Errors
    /// When it cannot be started, ends, or does not listen within 30 s; with the end of what it said.
    pub fn start(product: &Product) -> Result<Self, ServerError> {
        let place = new_place()?;
        let mut command = product.command(&place)?;
        let log = File::create(place.dir.join("server.log"))?;
        command.stdout(log.try_clone()?).stderr(log).stdin(std::process::Stdio::null());
        die_with_parent(&mut command);
        let mut server = Self { child: command.spawn()?, place, name: product.name() };
        server.wait_until_it_listens()?;
        Ok(server)
    }

    fn wait_until_it_listens(&mut self) -> Result<(), ServerError> {
        let started = Instant::now();
        while TcpStream::connect(self.address()).is_err() {
            if let Some(status) = self.child.try_wait()? {
                return Err(self.silent(format!("ended at once ({status})")));
            }
            if started.elapsed() > START_MAX {
                return Err(self.silent("does not listen".to_owned()));
            }
            sleep(LOOK);
        }
        Ok(())
    }

    fn silent(&self, what: String) -> ServerError {
        ServerError::Silent { name: self.name, what, log: self.log_tail() }
    }

    /// The last lines the server wrote.
    pub fn log_tail(&self) -> String {
        let log = fs::read(self.place.dir.join("server.log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&log[log.len().saturating_sub(2_000)..]).into_owned();
        text.lines().rev().take(15).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    /// Its MQTT listener.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.place.port).into()
    }

    /// Its process.
    pub fn pid(&self) -> Pid {
        self.child.id()
    }

    /// How it ended, if it did.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Stops it in order (SIGTERM). Returns a remark when it did not end well within 20 s.
    pub fn stop(mut self) -> Option<String> {
        if let Some(pid) = rustix::process::Pid::from_raw(self.child.id() as i32) {
            // Gone already: try_wait says how it ended.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let asked = Instant::now();
        while asked.elapsed() < STOP_MAX {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return None,
                Ok(Some(status)) => return Some(format!("{} ended with {status}", self.name)),
                _ => sleep(LOOK),
            }
        }
        Some(format!("{} did not stop within {} s and was killed", self.name, STOP_MAX.as_secs()))
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        // Both do nothing when it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::env::var_os("FERRYMQ_BENCH_KEEP").is_none() {
            let _ = fs::remove_dir_all(&self.place.dir);
        } else {
            eprintln!("kept {}", self.place.dir.display());
        }
    }
}

/// The server ends with the harness, however that ends.
fn die_with_parent(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    // SAFETY: prctl is async-signal-safe and touches nothing of this process.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            Ok(())
        });
    }
}

fn new_place() -> io::Result<Place> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let dir: PathBuf = std::env::temp_dir().join(format!("ferrymq-bench-{}-{number}", std::process::id()));
    fs::create_dir_all(&dir)?;
    let [port, second_port] = free_ports()?;
    Ok(Place { dir, port, second_port })
}

/// Two ports nobody listens on now.
fn free_ports() -> io::Result<[u16; 2]> {
    let listeners =
        [TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?, TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?];
    Ok([listeners[0].local_addr()?.port(), listeners[1].local_addr()?.port()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_free_ports_are_two() {
        let [one, two] = free_ports().expect("ports");
        assert_ne!(one, two);
    }

    #[test]
    fn a_server_that_ends_at_once_says_why() {
        // `false` takes any arguments and ends with status 1.
        let product = Product::ferrymq(Some("/bin/false".into()), None);
        let error = PrivateServer::start(&product).expect_err("it ends");
        assert!(error.to_string().starts_with("ferrymq ended at once (exit status: 1)"), "{error}");
    }
}
