//! Shared subscriptions: `$share/<group>/<filter>` (MQTT-5 4.8.2).

use crate::{TopicError, TopicFilter, TopicLimits};

const PREFIX: &str = "$share/";

/// The two parts of a shared subscription's filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SharedFilter<'a> {
    /// The ShareName: those who subscribe with the same group and filter share the messages.
    pub group: &'a str,
    /// What the group subscribes to.
    pub filter: TopicFilter<'a>,
}

impl<'a> SharedFilter<'a> {
    /// `Ok(None)` where the text is not meant as a shared subscription: it does not begin with `$share/`.
    pub fn parse(text: &'a str) -> Result<Option<SharedFilter<'a>>, TopicError> {
        SharedFilter::parse_within(text, &TopicLimits::PROTOCOL)
    }

    /// The same with limits, which the filter has to keep without the prefix and the group.
    pub fn parse_within(text: &'a str, limits: &TopicLimits) -> Result<Option<SharedFilter<'a>>, TopicError> {
        let Some(rest) = text.strip_prefix(PREFIX) else { return Ok(None) };
        //= MQTT-4.8.2-2: the ShareName is followed by "/" and a topic filter.
        let (group, filter) = rest.split_once('/').ok_or(TopicError::ShareName)?;
        check_group(group, limits)?;
        Ok(Some(SharedFilter { group, filter: TopicFilter::parse_within(filter, limits)? }))
    }
}

fn check_group(group: &str, limits: &TopicLimits) -> Result<(), TopicError> {
    //= MQTT-4.8.2-1: at least one character, neither "/" nor "+" nor "#".
    if group.is_empty() || group.bytes().any(|byte| matches!(byte, b'+' | b'#')) {
        return Err(TopicError::ShareName);
    }
    if group.as_bytes().contains(&0) {
        return Err(TopicError::NullCharacter);
    }
    if group.len() > usize::from(limits.length) {
        return Err(TopicError::TooLong);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Result<Option<(&str, &str)>, TopicError> {
        Ok(SharedFilter::parse(text)?.map(|shared| (shared.group, shared.filter.as_str())))
    }

    #[test]
    fn group_and_filter_are_taken_apart() {
        assert_eq!(parts("$share/consumer1/sport/tennis/+"), Ok(Some(("consumer1", "sport/tennis/+"))));
        assert_eq!(parts("$share/c//finance"), Ok(Some(("c", "/finance"))));
        assert_eq!(parts("$share/c/#"), Ok(Some(("c", "#"))));
    }

    #[test]
    fn other_filters_are_not_shared() {
        for text in ["a/b", "$share", "$SHARE/a/b", "$shared/a/b", "/$share/a/b"] {
            assert_eq!(parts(text), Ok(None), "{text}");
        }
    }

    #[test]
    fn malformed_groups_and_filters_are_refused() {
        for text in ["$share/", "$share/c", "$share//a", "$share/+/a", "$share/c#/a"] {
            assert_eq!(parts(text), Err(TopicError::ShareName), "{text}");
        }
        assert_eq!(parts("$share/c/"), Err(TopicError::Empty));
        assert_eq!(parts("$share/c/#/a"), Err(TopicError::MisplacedWildcard));
        assert_eq!(parts("$share/c\0/a"), Err(TopicError::NullCharacter));
    }

    #[test]
    fn limits_count_the_filter_alone() {
        let limits = TopicLimits { length: 9, levels: 1 };
        assert!(
            SharedFilter::parse_within("$share/consumer1/a", &limits).is_ok_and(|shared| shared.is_some())
        );
        assert_eq!(
            SharedFilter::parse_within("$share/consumer/a/b", &limits),
            Err(TopicError::TooManyLevels)
        );
    }
}
