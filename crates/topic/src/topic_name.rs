//! The name that a message is published to.

use core::fmt;

use crate::{TopicError, TopicLimits};

/// A valid topic name: not empty, no wildcards, no null character, within limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicName<'a> {
    text: &'a str,
}

impl<'a> TopicName<'a> {
    /// Checks the protocol's rules (MQTT 4.7).
    pub fn parse(text: &'a str) -> Result<TopicName<'a>, TopicError> {
        TopicName::parse_within(text, &TopicLimits::PROTOCOL)
    }

    /// Checks the protocol's rules and the given limits.
    pub fn parse_within(text: &'a str, limits: &TopicLimits) -> Result<TopicName<'a>, TopicError> {
        limits.check(text)?;
        match text.bytes().find(|byte| matches!(byte, 0 | b'+' | b'#')) {
            None => Ok(TopicName { text }),
            Some(0) => Err(TopicError::NullCharacter),
            Some(_) => Err(TopicError::WildcardInName),
        }
    }

    /// The name as it was given.
    pub fn as_str(&self) -> &'a str {
        self.text
    }

    /// Whether it belongs to the server (`$SYS/...`): wildcards in the first level don't match it (MQTT-4.7.2-1).
    pub fn is_reserved(&self) -> bool {
        self.text.as_bytes().first() == Some(&b'$')
    }
}

impl fmt::Display for TopicName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    #[test]
    fn any_text_without_wildcards_and_null_is_a_name() {
        for text in ["a", "/", "//", "/finance", "Accounts payable", "$SYS/x", "ä/\u{feff}/\u{1F6A2}", " "] {
            assert_eq!(TopicName::parse(text).map(|name| name.as_str()), Ok(text));
        }
    }

    #[test]
    fn wildcards_null_and_nothing_are_refused() {
        assert_eq!(TopicName::parse(""), Err(TopicError::Empty));
        assert_eq!(TopicName::parse("a/+"), Err(TopicError::WildcardInName));
        assert_eq!(TopicName::parse("sport#"), Err(TopicError::WildcardInName));
        assert_eq!(TopicName::parse("a\0b"), Err(TopicError::NullCharacter));
    }

    #[test]
    fn length_and_depth_are_limited_exactly() {
        let limits = TopicLimits { length: 5, levels: 2 };
        assert!(TopicName::parse_within("a/bcd", &limits).is_ok());
        assert_eq!(TopicName::parse_within("a/bcde", &limits), Err(TopicError::TooLong));
        assert_eq!(TopicName::parse_within("//", &limits), Err(TopicError::TooManyLevels));
        assert_eq!(
            TopicName::parse_within("/", &TopicLimits { length: 5, levels: 1 }),
            Err(TopicError::TooManyLevels)
        );
    }

    #[test]
    fn the_protocol_stops_at_65535_bytes() {
        let longest: String = core::iter::repeat_n('/', 65_535).collect();
        assert!(TopicName::parse(&longest).is_ok());
        let longer: String = core::iter::repeat_n('x', 65_536).collect();
        assert_eq!(TopicName::parse(&longer), Err(TopicError::TooLong));
    }

    #[test]
    fn a_dollar_reserves_a_name() {
        assert!(TopicName::parse("$SYS").is_ok_and(|name| name.is_reserved()));
        assert!(TopicName::parse("a/$SYS").is_ok_and(|name| !name.is_reserved()));
    }
}
