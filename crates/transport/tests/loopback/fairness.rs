//! A service that takes little a turn takes it from each peer in its turn.

use std::io::Write;
use std::net::TcpStream;

use ferrymq_transport::{
    Closed, ConnectionToken, Io, IoThread, ListenerId, ListenerSettings, Service, Settings,
};

const SCRATCH: usize = 4 << 10;

/// Reads one connection a turn.
#[derive(Default)]
struct OneATurn {
    has_read: bool,
    /// Which connection was read, in order.
    readers: Vec<ConnectionToken>,
    accepted: usize,
}

impl Service for OneATurn {
    fn accepted(&mut self, _io: &mut Io, _id: ConnectionToken, _listener: ListenerId) {
        self.accepted += 1;
    }

    fn received(&mut self, _io: &mut Io, id: ConnectionToken, input: &[u8]) -> usize {
        self.has_read = true;
        self.readers.push(id);
        input.len()
    }

    fn closed(&mut self, _io: &mut Io, _id: ConnectionToken, _cause: Closed) {}

    fn turn(&mut self, io: &mut Io) {
        self.has_read = false;
        io.wake_at_us(io.now_us());
    }

    fn may_read(&self) -> bool {
        !self.has_read
    }
}

#[test]
fn peers_with_more_to_read_do_not_come_before_those_that_were_not_read() {
    let settings = Settings { scratch_bytes: SCRATCH, ..Settings::default() };
    let mut io_thread = IoThread::new(settings, OneATurn::default()).unwrap();
    let listener = io_thread.listen(ListenerSettings::new("127.0.0.1:0".parse().unwrap())).unwrap();
    let address = io_thread.local_addr(listener).unwrap();
    let mut peers: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
    peers.iter_mut().for_each(|peer| peer.write_all(&[0; 10 * SCRATCH]).unwrap());
    while io_thread.service().readers.len() < 30 {
        io_thread.turn().unwrap();
    }
    let readers = &io_thread.service().readers;
    for round in readers[3..30].chunks(3) {
        assert!(round[0] != round[1] && round[1] != round[2] && round[0] != round[2], "{readers:?}");
    }
}
