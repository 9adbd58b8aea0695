//! Buffers of busy connections, and the pool they come from.

use crate::Output;

/// A larger buffer is freed rather than kept: the next user hardly needs as much.
const KEPT_BYTES_MAX: usize = 128 << 10;

/// What a connection has only while it has something to keep.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    /// Input that the service has not consumed.
    pub(crate) input: Vec<u8>,
    /// What is still to be sent.
    pub(crate) output: Output,
    /// Bytes of both as the pool has counted them last.
    counted: usize,
}

impl Buffers {
    /// Memory, its own included.
    fn capacity(&self) -> usize {
        size_of::<Buffers>() + self.input.capacity() + self.output.capacity()
    }
}

/// Empty buffers for reuse, the last returned first: it is warm in the cache.
#[derive(Debug)]
pub(crate) struct Pool {
    #[expect(clippy::vec_box, reason = "the boxes move to connections and back")]
    free: Vec<Box<Buffers>>,
    /// Memory of `free`: `0 <= bytes <= bytes_max`.
    bytes: usize,
    bytes_max: usize,
    /// Bytes in all buffers that connections hold, as they were counted last.
    held: usize,
}

impl Pool {
    pub(crate) fn new(bytes_max: usize) -> Pool {
        Pool { free: Vec::new(), bytes: 0, bytes_max, held: 0 }
    }

    pub(crate) fn take(&mut self) -> Box<Buffers> {
        let Some(buffers) = self.free.pop() else { return Box::default() };
        self.bytes -= buffers.capacity();
        buffers
    }

    /// Bytes in all buffers that connections hold.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Counts what a connection holds now; says how much that is.
    pub(crate) fn count(&mut self, buffers: &mut Buffers) -> usize {
        let now = buffers.input.len() + buffers.output.len();
        self.held = self.held + now - buffers.counted;
        buffers.counted = now;
        now
    }

    /// Takes buffers back whatever is still in them.
    pub(crate) fn give(&mut self, mut buffers: Box<Buffers>) {
        self.held -= std::mem::take(&mut buffers.counted);
        buffers.input.clear();
        buffers.output.clear();
        if buffers.input.capacity() > KEPT_BYTES_MAX {
            buffers.input = Vec::new();
        }
        if buffers.output.capacity() > KEPT_BYTES_MAX {
            buffers.output = Output::default();
        }
        if self.bytes + buffers.capacity() <= self.bytes_max {
            self.bytes += buffers.capacity();
            self.free.push(buffers);
        }
    }

    /// Gives back what `slot` holds if nothing is in it.
    pub(crate) fn give_if_empty(&mut self, slot: &mut Option<Box<Buffers>>) {
        if slot.as_ref().is_some_and(|held| held.input.is_empty() && held.output.is_empty()) {
            slot.take().into_iter().for_each(|held| self.give(held));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(bytes: usize) -> Box<Buffers> {
        let mut buffers = Box::<Buffers>::default();
        buffers.output.extend_from_slice(&vec![1; bytes]);
        buffers
    }

    #[test]
    fn buffers_come_back_empty_with_their_memory() {
        let mut pool = Pool::new(1 << 20);
        pool.give(used(1_000));
        let again = pool.take();
        assert!(again.output.is_empty());
        assert!(again.output.capacity() >= 1_000);
        assert_eq!(pool.bytes, 0);
    }

    #[test]
    fn the_pool_keeps_no_more_than_its_limit() {
        let mut pool = Pool::new(10_000);
        (0..100).for_each(|_| pool.give(used(1_000)));
        assert!((1..10).contains(&pool.free.len()));
        assert!(pool.bytes <= 10_000);
    }

    #[test]
    fn an_overgrown_buffer_is_freed() {
        let mut pool = Pool::new(1 << 30);
        pool.give(used(KEPT_BYTES_MAX + 1));
        assert_eq!(pool.take().capacity(), size_of::<Buffers>());
    }
}
