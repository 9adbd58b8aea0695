//! The message itself: one allocation, shared by reference count.

use alloc::vec::Vec;

use triomphe::ThinArc;

use crate::{Descriptor, Span, Timestamp};

/// An immutable message. Cloning one copies a pointer; descriptor and bytes share a single allocation.
///
/// The bytes are those of its publisher (for MQTT the variable header and payload of the PUBLISH as they came), so
/// they may hold more than the three spans of the descriptor name.
#[derive(Clone, Debug)]
pub struct Message(ThinArc<Descriptor, u8>);

/// Why bytes and descriptor do not make a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageError {
    /// A span of the descriptor ends behind the bytes.
    SpanOutside,
    /// A record ends before its message does, holds an unknown enumeration value, or a topic that is not UTF-8.
    Malformed,
}

impl Message {
    /// Copies `bytes` once. Fails if a span of the descriptor lies outside. That the topic is UTF-8 was checked by
    /// whoever found the spans; one that is not counts as empty.
    pub fn new(descriptor: Descriptor, bytes: &[u8]) -> Result<Message, MessageError> {
        for span in [descriptor.topic, descriptor.properties, descriptor.body] {
            if bytes.get(span.range()).is_none() {
                return Err(MessageError::SpanOutside);
            }
        }
        Ok(Message(ThinArc::from_header_and_slice(descriptor, bytes)))
    }

    /// A message made of parts that do not lie together: the spans of `descriptor` are set here.
    pub fn from_parts(mut descriptor: Descriptor, topic: &str, properties: &[u8], body: &[u8]) -> Message {
        let mut bytes = Vec::with_capacity(topic.len() + properties.len() + body.len());
        let mut append = |part: &[u8]| {
            let span = Span { start: bytes.len() as u32, len: part.len() as u32 };
            bytes.extend_from_slice(part);
            span
        };
        descriptor.topic = append(topic.as_bytes());
        descriptor.properties = append(properties);
        descriptor.body = append(body);
        Message(ThinArc::from_header_and_slice(descriptor, &bytes))
    }

    /// What is known of it without reading its bytes.
    #[inline]
    pub fn descriptor(&self) -> &Descriptor {
        &self.0.header.header
    }

    /// All bytes, as the publisher sent them.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.0.slice
    }

    /// The topic name that it was published to.
    #[inline]
    pub fn topic(&self) -> &str {
        core::str::from_utf8(self.topic_bytes()).unwrap_or_default()
    }

    /// The same without another look at its UTF-8, to find it in a table.
    #[inline]
    pub fn topic_bytes(&self) -> &[u8] {
        self.part(self.descriptor().topic)
    }

    /// The properties in their origin encoding.
    #[inline]
    pub fn properties(&self) -> &[u8] {
        self.part(self.descriptor().properties)
    }

    /// What the application sent.
    #[inline]
    pub fn body(&self) -> &[u8] {
        self.part(self.descriptor().body)
    }

    /// Bytes of memory that it takes, counted once however many share it.
    #[inline]
    pub fn memory(&self) -> usize {
        size_of::<Descriptor>() + 16 + self.bytes().len()
    }

    /// Whether nobody may get it any more.
    #[inline]
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.descriptor().expires <= now
    }

    /// The same message with some of its descriptor changed; copies the bytes.
    pub fn with_descriptor(&self, change: impl FnOnce(&mut Descriptor)) -> Message {
        let mut descriptor = *self.descriptor();
        change(&mut descriptor);
        Message(ThinArc::from_header_and_slice(descriptor, self.bytes()))
    }

    fn part(&self, span: Span) -> &[u8] {
        &self.bytes()[span.range()]
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Message) -> bool {
        self.descriptor() == other.descriptor() && self.bytes() == other.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_parts_gives_each_part_back() {
        let message = Message::from_parts(Descriptor::default(), "a/b", &[1, 2], b"body");
        assert_eq!(
            (message.topic(), message.properties(), message.body()),
            ("a/b", &[1u8, 2][..], &b"body"[..])
        );
    }

    #[test]
    fn a_span_outside_of_the_bytes_is_refused() {
        let descriptor = Descriptor { body: Span { start: 2, len: 3 }, ..Descriptor::default() };
        assert_eq!(Message::new(descriptor, b"abcd"), Err(MessageError::SpanOutside));
    }

    #[test]
    fn a_topic_that_is_not_utf8_counts_as_empty() {
        let descriptor = Descriptor { topic: Span { start: 0, len: 1 }, ..Descriptor::default() };
        assert_eq!(Message::new(descriptor, &[0xff]).map(|message| message.topic().len()), Ok(0));
    }

    #[test]
    fn an_expiry_ends_at_its_moment() {
        let descriptor = Descriptor { expires: Timestamp(10), ..Descriptor::default() };
        let message = Message::from_parts(descriptor, "t", &[], &[]);
        assert!(!message.has_expired(Timestamp(9)));
        assert!(message.has_expired(Timestamp(10)));
    }
}
