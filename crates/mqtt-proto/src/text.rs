//! UTF-8 strings (1.5.4) and topic names (4.7).

use crate::{DecodeError, ReasonCode};

/// Text as MQTT allows it: well-formed UTF-8 without U+0000 (MQTT-1.5.4-1, MQTT-1.5.4-2). Control characters and
/// non-characters are accepted, as 1.5.4 leaves to the receiver.
#[inline]
pub(crate) fn text(bytes: &[u8]) -> Result<&str, DecodeError> {
    let text = core::str::from_utf8(bytes).map_err(|_| DecodeError::malformed("MQTT-1.5.4-1"))?;
    if bytes.contains(&0) {
        return Err(DecodeError::malformed("MQTT-1.5.4-2"));
    }
    Ok(text)
}

/// The name of a topic: text, and no wildcard in it (MQTT-3.3.2-2). May be empty, where a topic alias stands for it.
#[inline(always)]
pub(crate) fn topic_name(bytes: &[u8]) -> Result<&str, DecodeError> {
    let text = core::str::from_utf8(bytes).map_err(|_| DecodeError::malformed("MQTT-1.5.4-1"))?;
    // Without a branch per byte, so that it is done sixteen at a time.
    if bytes.iter().fold(false, |found, b| found | (*b == 0) | (*b == b'+') | (*b == b'#')) {
        return Err(forbidden_in_topic_name(bytes));
    }
    Ok(text)
}

#[cold]
fn forbidden_in_topic_name(bytes: &[u8]) -> DecodeError {
    if bytes.contains(&0) {
        return DecodeError::malformed("MQTT-1.5.4-2");
    }
    DecodeError::new(ReasonCode::TopicNameInvalid, "MQTT-3.3.2-2")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surrogates_and_the_null_character_are_refused() {
        assert_eq!(text(&[0xED, 0xA0, 0x80]), Err(DecodeError::malformed("MQTT-1.5.4-1")));
        assert_eq!(text(b"a\0b"), Err(DecodeError::malformed("MQTT-1.5.4-2")));
        assert_eq!(topic_name(b"a\0b"), Err(DecodeError::malformed("MQTT-1.5.4-2")));
    }

    #[test]
    fn a_byte_order_mark_is_kept() {
        // MQTT-1.5.4-3
        assert_eq!(text(&[0xEF, 0xBB, 0xBF, b'a']), Ok("\u{feff}a"));
    }

    #[test]
    fn control_characters_and_non_characters_are_accepted() {
        assert_eq!(text("\u{1}\u{7f}\u{fffe}".as_bytes()), Ok("\u{1}\u{7f}\u{fffe}"));
    }

    #[test]
    fn wildcards_are_no_topic_names() {
        for name in ["#", "a/+", "a/b#", "+"] {
            assert_eq!(topic_name(name.as_bytes()).map_err(|e| e.clause), Err("MQTT-3.3.2-2"), "{name}");
        }
        assert_eq!(topic_name("a/ü/$c".as_bytes()), Ok("a/ü/$c"));
    }
}
