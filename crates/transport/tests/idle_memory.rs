//! What an idle connection costs on the heap, counted by the allocator. Alone in its process.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use ferrymq_transport::{
    Closed, ConnectionToken, Io, IoThread, ListenerId, ListenerSettings, Service, Settings, Statistics,
};

struct Counting;

static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE_BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: as promised by our caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as promised by our caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Echoes what comes; every connection has its timer armed.
struct Echo {
    client: bool,
}

impl Service for Echo {
    fn accepted(&mut self, io: &mut Io, id: ConnectionToken, _listener: ListenerId) {
        io.set_timer(id, io.now_ms() + 60_000);
    }

    fn connected(&mut self, io: &mut Io, id: ConnectionToken) {
        io.set_timer(id, io.now_ms() + 60_000);
        io.output(id).unwrap().extend_from_slice(&[7; 300]);
    }

    fn received(&mut self, io: &mut Io, id: ConnectionToken, input: &[u8]) -> usize {
        if !self.client {
            io.output(id).unwrap().extend_from_slice(input);
        }
        input.len()
    }

    fn closed(&mut self, _io: &mut Io, _id: ConnectionToken, _cause: Closed) {}
}

/// The tables grow by doubling: these many nearly fill theirs of 512.
const PAIRS: usize = 500;

fn statistics(io_thread: &mut IoThread<Echo>) -> Statistics {
    *io_thread.parts().1.statistics()
}

#[test]
fn an_idle_connection_costs_at_most_a_hundred_bytes_of_heap() {
    let settings = Settings { pool_bytes_max: 0, ..Settings::default() };
    let mut server = IoThread::new(settings.clone(), Echo { client: false }).unwrap();
    let listener = server.listen(ListenerSettings::new("127.0.0.1:0".parse().unwrap())).unwrap();
    let address = server.local_addr(listener).unwrap();
    let mut client = IoThread::new(settings, Echo { client: true }).unwrap();
    let before = LIVE_BYTES.load(Ordering::Relaxed);
    for _ in 0..PAIRS {
        client.parts().1.connect(address, None).unwrap();
    }
    while statistics(&mut client).bytes_in < PAIRS as u64 * 300 {
        for io_thread in [&mut server, &mut client] {
            io_thread.parts().1.wake_at_us(0);
            io_thread.turn().unwrap();
        }
    }
    let each = (LIVE_BYTES.load(Ordering::Relaxed) - before) / (2 * PAIRS);
    assert!(each <= 100, "{each} bytes a connection");
}
