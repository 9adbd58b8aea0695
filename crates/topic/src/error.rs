//! What makes a text no topic name or filter.

/// Which rule a topic name or a topic filter breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopicError {
    /// MQTT-4.7.3-1.
    #[error("is empty")]
    Empty,
    /// MQTT-4.7.3-3, or longer than the configured [`TopicLimits::length`].
    #[error("is too long")]
    TooLong,
    /// Deeper than the configured [`TopicLimits::levels`].
    #[error("has too many levels")]
    TooManyLevels,
    /// MQTT-4.7.3-2.
    #[error("contains the null character")]
    NullCharacter,
    /// A topic name with `+` or `#` (MQTT-4.7.0-1).
    #[error("contains a wildcard character")]
    WildcardInName,
    /// `#` that is not the last level, alone in it (MQTT-4.7.1-1), or `+` that shares its level (MQTT-4.7.1-2).
    #[error("has a wildcard that is not alone in its level, or # before the last level")]
    MisplacedWildcard,
    /// `$share/` without a group of at least one character free of wildcards (MQTT-4.8.2-1, MQTT-4.8.2-2).
    #[error("names no valid group of a shared subscription")]
    ShareName,
}

/// How long and how deep names and filters may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicLimits {
    /// Bytes.
    pub length: u16,
    /// Levels: `a/b` has two, `/` has two.
    pub levels: u32,
}

impl TopicLimits {
    /// What the protocol itself allows.
    pub const PROTOCOL: TopicLimits = TopicLimits { length: u16::MAX, levels: u16::MAX as u32 + 1 };

    /// Checks what names and filters have in common.
    pub(crate) fn check(&self, text: &str) -> Result<(), TopicError> {
        if text.is_empty() {
            return Err(TopicError::Empty);
        }
        if text.len() > usize::from(self.length) {
            return Err(TopicError::TooLong);
        }
        // A text has at most one level more than bytes, so that most need no count.
        let levels = self.levels as usize;
        if text.len() >= levels && count_levels(text) > levels {
            return Err(TopicError::TooManyLevels);
        }
        Ok(())
    }
}

impl Default for TopicLimits {
    fn default() -> TopicLimits {
        TopicLimits::PROTOCOL
    }
}

fn count_levels(text: &str) -> usize {
    1 + text.bytes().filter(|byte| *byte == b'/').count()
}
