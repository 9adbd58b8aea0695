//! An echo server and its load generator, each a loop on a thread of its own, to see what the loop itself costs.
//!
//! `cargo run --release -p ferrymq-transport --example echo -- [connections] [messages a batch] [seconds]`

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use ferrymq_transport::{
    Closed, ConnectionToken, Io, IoThread, ListenerId, ListenerSettings, Service, ServiceTimer, Settings,
    StartError, Statistics,
};
use rustix::time::{ClockId, clock_gettime};

const MESSAGE_BYTES: usize = 256;

/// Sends back whole messages.
#[derive(Default)]
struct Echo;

impl Service for Echo {
    fn accepted(&mut self, _io: &mut Io, _id: ConnectionToken, _listener: ListenerId) {}

    fn received(&mut self, io: &mut Io, id: ConnectionToken, input: &[u8]) -> usize {
        let whole = input.len() - input.len() % MESSAGE_BYTES;
        if let Some(output) = io.output(id) {
            // Message by message, as a protocol would.
            input[..whole].chunks(MESSAGE_BYTES).for_each(|message| output.extend_from_slice(message));
        }
        whole
    }

    fn closed(&mut self, io: &mut Io, _id: ConnectionToken, _cause: Closed) {
        if io.statistics().closed + 1 == io.statistics().accepted {
            io.stop();
        }
    }
}

/// Sends a batch on each connection whenever the last one is back.
struct Load {
    batch: Vec<u8>,
    /// Bytes not yet back, by slot.
    missing: Vec<usize>,
    messages: u64,
}

impl Load {
    fn send(&mut self, io: &mut Io, id: ConnectionToken) {
        if let Some(output) = io.output(id) {
            output.extend_from_slice(&self.batch);
        }
        self.missing.resize(self.missing.len().max(id.slot() + 1), 0);
        self.missing[id.slot()] = self.batch.len();
    }
}

impl Service for Load {
    fn accepted(&mut self, _io: &mut Io, _id: ConnectionToken, _listener: ListenerId) {}

    fn connected(&mut self, io: &mut Io, id: ConnectionToken) {
        self.send(io, id);
    }

    fn received(&mut self, io: &mut Io, id: ConnectionToken, input: &[u8]) -> usize {
        self.missing[id.slot()] -= input.len();
        if self.missing[id.slot()] == 0 {
            self.messages += (self.batch.len() / MESSAGE_BYTES) as u64;
            self.send(io, id);
        }
        input.len()
    }

    fn closed(&mut self, _io: &mut Io, _id: ConnectionToken, _cause: Closed) {}

    fn service_timer(&mut self, io: &mut Io, _timer: ServiceTimer) {
        io.stop();
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<usize>());
    let mut next = |default| arguments.next().unwrap_or(Ok(default));
    let (connections, batch, seconds) = (next(100)?, next(64)?, next(5)?);

    let mut server = IoThread::new(Settings::default(), Echo)?;
    let listener = server.listen(ListenerSettings::new("127.0.0.1:0".parse()?))?;
    let address = server.local_addr(listener).ok_or("no address")?;
    let server = std::thread::spawn(move || run(server));
    let client = load(address, connections, batch, seconds)?;

    let begin = Instant::now();
    let (load, spent, used) = run(client)?;
    let passed = begin.elapsed();
    let (_, server_spent, server_used) = server.join().map_err(|_| "server panicked")??;
    let per_message = |cpu: Duration| cpu.as_secs_f64() * 1e6 / load.messages as f64;
    println!(
        "{connections} connections, batches of {batch}, {MESSAGE_BYTES} bytes: {:.0} messages/s there and back",
        load.messages as f64 / passed.as_secs_f64()
    );
    println!("server {:.3} µs CPU a message  {}", per_message(server_spent), calls(&server_used));
    println!("client {:.3} µs CPU a message  {}", per_message(spent), calls(&used));
    Ok(())
}

fn load(
    to: SocketAddr,
    connections: usize,
    batch: usize,
    seconds: usize,
) -> Result<IoThread<Load>, StartError> {
    let service = Load { batch: vec![7; batch * MESSAGE_BYTES], missing: Vec::new(), messages: 0 };
    let mut client = IoThread::new(Settings::default(), service)?;
    let (_, io) = client.parts();
    for _ in 0..connections {
        if let Err(error) = io.connect(to, None) {
            eprintln!("{error}");
        }
    }
    io.set_service_timer(ServiceTimer(0), io.now_ms() + seconds as u64 * 1_000);
    Ok(client)
}

/// Runs a loop to its end and says what it took of the processor.
fn run<S: Service>(mut io_thread: IoThread<S>) -> Result<(S, Duration, Statistics), StartError> {
    let before = processor_time();
    while !io_thread.is_over() {
        io_thread.turn()?;
    }
    let statistics = *io_thread.parts().1.statistics();
    let spent = processor_time() - before;
    io_thread.run().map(|service| (service, spent, statistics))
}

fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

fn calls(statistics: &Statistics) -> String {
    let Statistics { loops, reads, writes, short_writes, .. } = statistics;
    format!("{loops} turns, {reads} reads, {writes} writes ({short_writes} short)")
}
