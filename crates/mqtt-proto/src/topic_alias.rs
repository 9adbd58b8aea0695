//! Topic aliases (3.3.2.3.4): those that the peer made, and those that we give. They end with the connection
//! (MQTT-3.3.2-7).

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::{DecodeError, Publish, ReasonCode};

/// What the peer's aliases stand for; `topics[alias - 1]`, empty where it has defined none.
#[derive(Debug, Default)]
pub(crate) struct IncomingAliases {
    topics: Vec<Box<str>>,
}

impl IncomingAliases {
    /// Puts the topic that an alias stands for into `publish`, or keeps the topic that it is to stand for. An alias
    /// is at most `maximum` (MQTT-3.3.2-9) and must be known where it comes without a topic.
    pub(crate) fn resolve<'a>(
        &'a mut self,
        publish: &mut Publish<'a>,
        alias: u16,
        maximum: u16,
    ) -> Result<(), DecodeError> {
        if alias > maximum {
            return Err(DecodeError::new(ReasonCode::TopicAliasInvalid, "MQTT-3.3.2-9"));
        }
        let at = usize::from(alias) - 1;
        if !publish.topic.is_empty() {
            self.define(at, publish.topic);
            return Ok(());
        }
        match self.topics.get(at) {
            Some(topic) if !topic.is_empty() => publish.topic = topic,
            _ => return Err(DecodeError::protocol("MQTT-5 3.3.2.3.4")),
        }
        Ok(())
    }

    fn define(&mut self, at: usize, topic: &str) {
        if self.topics.len() <= at {
            self.topics.resize_with(at + 1, Box::default);
        }
        if *self.topics[at] != *topic {
            self.topics[at] = topic.into();
        }
    }
}

/// How a PUBLISH names its topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TopicAliasUse {
    /// By its name alone.
    #[default]
    None,
    /// By its name, and this alias stands for it from now on.
    Define(u16),
    /// By this alias alone.
    Use(u16),
}

/// The aliases that we have given to the peer. A topic gets one as long as there are some left; then only topics that
/// are met twice within a few misses take the place of the one that was not used for longest, so that a stream of
/// ever new topics changes nothing.
#[derive(Debug, Default)]
pub(crate) struct OutgoingAliases {
    /// `hashes[i]` of `topics[i]`, whose alias is `i + 1`.
    hashes: Vec<u32>,
    topics: Vec<Topic>,
    /// Hashes of the last topics that found no place.
    missed: [u32; 8],
    misses: u8,
    uses: u32,
}

#[derive(Debug)]
struct Topic {
    name: Box<str>,
    /// [`OutgoingAliases::uses`] when it was used last.
    last_use: u32,
}

impl OutgoingAliases {
    /// How a PUBLISH to `topic` is to name it, with at most `maximum` aliases. Whoever asks sends that packet: the
    /// next one may rely on it.
    pub(crate) fn choose(&mut self, topic: &str, maximum: u16) -> TopicAliasUse {
        self.uses = self.uses.wrapping_add(1);
        let hash = hash(topic.as_bytes());
        for (at, _) in self.hashes.iter().enumerate().filter(|(_, known)| **known == hash) {
            let known = &mut self.topics[at];
            if *known.name == *topic {
                known.last_use = self.uses;
                return TopicAliasUse::Use(at as u16 + 1);
            }
        }
        self.assign(topic, hash, maximum)
    }

    fn assign(&mut self, topic: &str, hash: u32, maximum: u16) -> TopicAliasUse {
        let entry = Topic { name: topic.into(), last_use: self.uses };
        if self.topics.len() < usize::from(maximum) {
            self.hashes.push(hash);
            self.topics.push(entry);
            return TopicAliasUse::Define(self.topics.len() as u16);
        }
        if !self.missed.contains(&hash) {
            self.missed[usize::from(self.misses) % self.missed.len()] = hash;
            self.misses = self.misses.wrapping_add(1);
            return TopicAliasUse::None;
        }
        let age = |topic: &Topic| self.uses.wrapping_sub(topic.last_use);
        let Some((at, _)) = self.topics.iter().enumerate().max_by_key(|(_, topic)| age(topic)) else {
            return TopicAliasUse::None;
        };
        self.hashes[at] = hash;
        self.topics[at] = entry;
        TopicAliasUse::Define(at as u16 + 1)
    }
}

/// Tells topics apart well enough that the names themselves are rarely compared; FNV-1a, by words. Never 0.
fn hash(topic: &[u8]) -> u32 {
    let mut hash = 0x811C_9DC5 ^ topic.len() as u64;
    let (words, rest) = topic.as_chunks::<8>();
    let tail = rest.iter().fold(1, |tail, byte| tail << 8 | u64::from(*byte));
    for word in words.iter().map(|word| u64::from_le_bytes(*word)).chain([tail]) {
        hash = (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash ^= hash >> 29;
    }
    (hash >> 32) as u32 | 1
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    fn resolve(
        aliases: &mut IncomingAliases,
        topic: &'static str,
        alias: u16,
    ) -> Result<Box<str>, DecodeError> {
        let mut publish = Publish { topic, ..Publish::default() };
        let resolved = aliases.resolve(&mut publish, alias, 4);
        resolved.map(|()| publish.topic.into())
    }

    #[test]
    fn an_alias_stands_for_the_topic_that_it_came_with_last() {
        let mut aliases = IncomingAliases::default();
        assert!(resolve(&mut aliases, "a", 3).is_ok());
        assert_eq!(resolve(&mut aliases, "", 3).as_deref(), Ok("a"));
        assert!(resolve(&mut aliases, "b", 3).is_ok());
        assert_eq!(resolve(&mut aliases, "", 3).as_deref(), Ok("b"));
    }

    #[test]
    fn an_alias_without_a_topic_must_be_known() {
        let mut aliases = IncomingAliases::default();
        assert!(resolve(&mut aliases, "a", 3).is_ok());
        for unknown in [1, 4] {
            assert_eq!(
                resolve(&mut aliases, "", unknown).map_err(|e| e.reason),
                Err(ReasonCode::ProtocolError)
            );
        }
    }

    #[test]
    fn an_alias_beyond_the_maximum_is_refused() {
        let refused = resolve(&mut IncomingAliases::default(), "a", 5);
        assert_eq!(refused, Err(DecodeError::new(ReasonCode::TopicAliasInvalid, "MQTT-3.3.2-9")));
    }

    #[test]
    fn a_topic_is_named_once_and_by_its_alias_after() {
        let mut aliases = OutgoingAliases::default();
        assert_eq!(aliases.choose("a", 2), TopicAliasUse::Define(1));
        assert_eq!(aliases.choose("b", 2), TopicAliasUse::Define(2));
        assert_eq!(aliases.choose("a", 2), TopicAliasUse::Use(1));
        assert_eq!(aliases.choose("b", 2), TopicAliasUse::Use(2));
    }

    #[test]
    fn a_topic_met_again_takes_the_place_of_the_least_recently_used() {
        let mut aliases = OutgoingAliases::default();
        for topic in ["a", "b", "a"] {
            aliases.choose(topic, 2);
        }
        assert_eq!(aliases.choose("c", 2), TopicAliasUse::None);
        assert_eq!(aliases.choose("c", 2), TopicAliasUse::Define(2));
        assert_eq!(aliases.choose("a", 2), TopicAliasUse::Use(1));
    }

    #[test]
    fn ever_new_topics_take_no_place() {
        let mut aliases = OutgoingAliases::default();
        aliases.choose("kept", 1);
        for n in 0..1000 {
            assert_eq!(aliases.choose(&format!("new/{n}"), 1), TopicAliasUse::None);
        }
        assert_eq!(aliases.choose("kept", 1), TopicAliasUse::Use(1));
    }
}
