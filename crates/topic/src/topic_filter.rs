//! The filter of a subscription.

use core::fmt;

use crate::{TopicError, TopicLimits};

/// A valid topic filter: not empty, wildcards where they may be, no null character, within limits. It is never a
/// shared one: [`crate::SharedFilter`] takes those apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicFilter<'a> {
    text: &'a str,
}

impl<'a> TopicFilter<'a> {
    /// Checks the protocol's rules (MQTT 4.7).
    pub fn parse(text: &'a str) -> Result<TopicFilter<'a>, TopicError> {
        TopicFilter::parse_within(text, &TopicLimits::PROTOCOL)
    }

    /// Checks the protocol's rules and the given limits.
    pub fn parse_within(text: &'a str, limits: &TopicLimits) -> Result<TopicFilter<'a>, TopicError> {
        limits.check(text)?;
        if text.as_bytes().contains(&0) {
            return Err(TopicError::NullCharacter);
        }
        if text.bytes().any(|byte| matches!(byte, b'+' | b'#')) {
            check_wildcards(text)?;
        }
        Ok(TopicFilter { text })
    }

    /// The filter as it was given.
    pub fn as_str(&self) -> &'a str {
        self.text
    }

    /// Whether it can match more than the topic of the same text.
    pub fn has_wildcard(&self) -> bool {
        self.text.bytes().any(|byte| matches!(byte, b'+' | b'#'))
    }
}

impl fmt::Display for TopicFilter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

fn check_wildcards(text: &str) -> Result<(), TopicError> {
    let mut levels = text.split('/').peekable();
    while let Some(level) = levels.next() {
        let alone = level.len() == 1;
        let misplaced = match level.bytes().find(|byte| matches!(byte, b'+' | b'#')) {
            None => false,
            //= MQTT-4.7.1-2: the single-level wildcard occupies an entire level.
            Some(b'+') => !alone,
            //= MQTT-4.7.1-1: the multi-level wildcard is alone in the last level.
            Some(_) => !alone || levels.peek().is_some(),
        };
        if misplaced {
            return Err(TopicError::MisplacedWildcard);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_valid_examples_of_the_specification_are_filters() {
        for text in [
            "sport/tennis/player1/#",
            "sport/#",
            "#",
            "+",
            "+/tennis/#",
            "sport/+/player1",
            "/+",
            "+/+",
            "$SYS/#",
        ] {
            assert_eq!(TopicFilter::parse(text).map(|filter| filter.as_str()), Ok(text));
        }
    }

    #[test]
    fn the_invalid_examples_of_the_specification_are_none() {
        for text in ["sport/tennis#", "sport/tennis/#/ranking", "sport+", "+a", "#/", "##", "a/++/b", "a/+#"]
        {
            assert_eq!(TopicFilter::parse(text), Err(TopicError::MisplacedWildcard), "{text}");
        }
        assert_eq!(TopicFilter::parse(""), Err(TopicError::Empty));
        assert_eq!(TopicFilter::parse("a\0"), Err(TopicError::NullCharacter));
    }

    #[test]
    fn limits_hold_for_filters_too() {
        let limits = TopicLimits { length: 4, levels: 2 };
        assert!(TopicFilter::parse_within("ab/#", &limits).is_ok());
        assert_eq!(TopicFilter::parse_within("abc/#", &limits), Err(TopicError::TooLong));
        assert_eq!(TopicFilter::parse_within("+//", &limits), Err(TopicError::TooManyLevels));
    }

    #[test]
    fn a_filter_knows_whether_it_has_a_wildcard() {
        assert!(TopicFilter::parse("a/+").is_ok_and(|filter| filter.has_wildcard()));
        assert!(TopicFilter::parse("a/b").is_ok_and(|filter| !filter.has_wildcard()));
    }
}
