//! What a connection has yet to send.

use std::collections::VecDeque;

use bytes::Bytes;

/// From this size on a body is worth sharing rather than copying: 16 KiB copy in about 1 µs, and each shared part
/// costs an entry in the gathered write, a reference count and the break of the buffer around it.
pub const SHARED_BYTES_MIN: usize = 16 << 10;

/// A growing buffer is cut here, so that what was sent of a long backlog is given back and growth copies little.
const CUT_BYTES: usize = 64 << 10;

/// Unsent bytes of one connection, in order: whole parts first, then the buffer that still grows.
#[derive(Debug, Default)]
pub struct Output {
    /// Parts that grow no more.
    parts: VecDeque<Part>,
    /// Bytes after all parts.
    growing: Vec<u8>,
    /// Bytes in `parts`, sent ones of the first included.
    parts_len: usize,
    /// Sent of the first part, or of `growing` when there are no parts: `sent < ` its length, or 0.
    sent: usize,
}

#[derive(Debug)]
enum Part {
    Owned(Vec<u8>),
    Shared(Bytes),
}

impl Part {
    fn bytes(&self) -> &[u8] {
        match self {
            Part::Owned(bytes) => bytes,
            Part::Shared(bytes) => bytes,
        }
    }
}

impl Output {
    /// Bytes not yet sent.
    pub fn len(&self) -> usize {
        self.parts_len + self.growing.len() - self.sent
    }

    /// Whether everything was sent.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The buffer to append to, for encoders; what is already in it must stay as it is.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        if self.growing.len() >= CUT_BYTES {
            self.cut();
        }
        &mut self.growing
    }

    /// Appends a copy.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.buffer().extend_from_slice(bytes);
    }

    /// Appends `bytes` without copying if they are [`SHARED_BYTES_MIN`] or more, else a copy.
    pub fn push_shared(&mut self, bytes: Bytes) {
        if bytes.len() < SHARED_BYTES_MIN {
            return self.extend_from_slice(&bytes);
        }
        self.cut();
        self.push(Part::Shared(bytes));
    }

    /// Ends the growing buffer; the next bytes go into a new one.
    fn cut(&mut self) {
        if !self.growing.is_empty() {
            let whole = std::mem::take(&mut self.growing);
            self.push(Part::Owned(whole));
        }
    }

    fn push(&mut self, part: Part) {
        self.parts_len += part.bytes().len();
        self.parts.push_back(part);
    }

    /// The unsent bytes as slices in order, for a gathered write.
    pub(crate) fn slices(&self) -> impl Iterator<Item = &[u8]> {
        let parts = self.parts.iter().map(Part::bytes).chain(Some(self.growing.as_slice()));
        let mut sent = self.sent;
        parts.map(move |part| &part[std::mem::take(&mut sent)..]).filter(|part| !part.is_empty())
    }

    /// Forgets the first `n` unsent bytes; `n <= len()`.
    pub(crate) fn advance(&mut self, n: usize) {
        debug_assert!(n <= self.len(), "more sent than there was");
        self.sent += n;
        while let Some(first) =
            self.parts.front().map(|part| part.bytes().len()).filter(|len| *len <= self.sent)
        {
            self.parts.pop_front();
            self.parts_len -= first;
            self.sent -= first;
        }
        if self.is_empty() {
            self.growing.clear();
            self.sent = 0;
        }
    }

    /// Forgets everything; keeps the growing buffer's memory.
    pub(crate) fn clear(&mut self) {
        self.parts = VecDeque::new();
        self.growing.clear();
        (self.parts_len, self.sent) = (0, 0);
    }

    /// Memory of the growing buffer.
    pub(crate) fn capacity(&self) -> usize {
        self.growing.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unsent(output: &Output) -> Vec<u8> {
        output.slices().flatten().copied().collect()
    }

    #[test]
    fn small_appends_are_one_slice() {
        let mut output = Output::default();
        output.extend_from_slice(b"one ");
        output.buffer().extend_from_slice(b"two");
        assert_eq!(output.slices().collect::<Vec<_>>(), [b"one two"]);
        assert_eq!(output.len(), 7);
    }

    #[test]
    fn a_large_body_is_shared_and_stays_in_order() {
        let body = Bytes::from(vec![7; SHARED_BYTES_MIN]);
        let mut output = Output::default();
        output.extend_from_slice(b"head");
        output.push_shared(body.clone());
        output.extend_from_slice(b"tail");
        let slices: Vec<_> = output.slices().collect();
        assert_eq!((slices.len(), slices[0], slices[2]), (3, &b"head"[..], &b"tail"[..]));
        assert_eq!(slices[1].as_ptr(), body.as_ptr(), "not copied");
    }

    #[test]
    fn a_small_body_is_copied() {
        let mut output = Output::default();
        output.extend_from_slice(b"head ");
        output.push_shared(Bytes::from_static(b"body"));
        assert_eq!(output.slices().collect::<Vec<_>>(), [b"head body"]);
    }

    #[test]
    fn whatever_was_sent_the_rest_is_what_follows() {
        let body: Vec<u8> = (0..SHARED_BYTES_MIN).map(|i| i as u8).collect();
        let all = [b"head".as_slice(), &body, b"tail"].concat();
        for step in [1, 3, 4, 5, 1_000, SHARED_BYTES_MIN, all.len()] {
            let mut output = Output::default();
            output.extend_from_slice(b"head");
            output.push_shared(Bytes::from(body.clone()));
            output.extend_from_slice(b"tail");
            let mut gone = 0;
            while !output.is_empty() {
                let n = step.min(output.len());
                output.advance(n);
                gone += n;
                assert_eq!(output.len(), all.len() - gone);
                if gone % 7 == 0 || output.len() < 9 {
                    assert_eq!(unsent(&output), all[gone..]);
                }
            }
        }
    }

    #[test]
    fn appending_after_a_part_was_sent_keeps_the_order() {
        let mut output = Output::default();
        output.extend_from_slice(b"abc");
        output.advance(2);
        output.extend_from_slice(b"de");
        assert_eq!(unsent(&output), b"cde");
        assert_eq!(output.len(), 3);
    }

    #[test]
    fn a_long_backlog_is_cut_into_parts() {
        let mut output = Output::default();
        for _ in 0..5 {
            output.extend_from_slice(&vec![1; CUT_BYTES]);
        }
        assert_eq!(output.slices().count(), 5);
        assert_eq!(output.len(), 5 * CUT_BYTES);
    }
}
