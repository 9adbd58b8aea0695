//! PUBLISH and wills to messages of the queue manager: which are accepted, and as what.

use std::ops::Range;

use ferrymq_message::{Descriptor, Encoding, Message, Persistence, QoS, Span, Timestamp};
use ferrymq_mqtt_proto::{self as proto, Publish, ReasonCode, Version};

use crate::{MqttSettings, engine};

/// Topics that only the server publishes to.
const RESERVED: &str = "$SYS";

/// Why a well-formed message is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unacceptable {
    /// Its topic is longer or deeper than the limits.
    Topic,
    /// Its topic is the server's.
    Reserved,
    /// Its payload is not the text that it was said to be.
    PayloadFormat,
}

impl Unacceptable {
    /// For a 5.0 client.
    pub fn reason(self) -> ReasonCode {
        match self {
            Unacceptable::Topic => ReasonCode::TopicNameInvalid,
            Unacceptable::Reserved => ReasonCode::NotAuthorized,
            Unacceptable::PayloadFormat => ReasonCode::PayloadFormatInvalid,
        }
    }

    /// For people.
    pub fn text(self) -> &'static str {
        match self {
            Unacceptable::Topic => "the topic name is longer or deeper than this server accepts",
            Unacceptable::Reserved => "topics below $SYS are the server's own",
            Unacceptable::PayloadFormat => "the payload is not UTF-8, as its format indicator says",
        }
    }
}

/// The message in a PUBLISH, as it came: one copy of its bytes.
#[inline]
pub(crate) fn message(
    publish: &Publish<'_>,
    version: Version,
    settings: &MqttSettings,
    now: Timestamp,
) -> Result<Message, Unacceptable> {
    check_topic(publish.topic, settings)?;
    if publish.payload_is_text && settings.payload_format_checked && !publish.payload_format_is_valid() {
        return Err(Unacceptable::PayloadFormat);
    }
    let qos = qos_in(publish.qos);
    let mut descriptor = Descriptor {
        encoding: encoding(version),
        qos,
        persistence: persistence(qos),
        retain: publish.retain,
        put_time: now,
        expires: publish.message_expiry_s.map_or(Timestamp::NEVER, |expiry_s| now.plus_seconds(expiry_s)),
        ..Descriptor::default()
    };
    let spans = publish.spans();
    let properties = publish.properties.as_raw();
    let Some(topic) = spans.topic else {
        return Ok(Message::from_parts(descriptor, publish.topic, properties, publish.payload));
    };
    descriptor.topic = span(topic);
    descriptor.properties = span(spans.properties);
    descriptor.body = span(spans.payload);
    // Its topic was checked to be UTF-8 and its spans lie within; if not, it is no topic that we can accept.
    Message::new(descriptor, publish.body).map_err(|_| Unacceptable::Topic)
}

/// The will of a client; its times are set when it is published.
pub(crate) fn will(
    will: &proto::Will<'_>,
    version: Version,
    settings: &MqttSettings,
) -> Result<Box<engine::Will>, Unacceptable> {
    check_topic(will.topic, settings)?;
    let qos = qos_in(will.qos);
    let descriptor = Descriptor {
        encoding: encoding(version),
        qos,
        persistence: persistence(qos),
        retain: will.retain,
        ..Descriptor::default()
    };
    let message = Message::from_parts(descriptor, will.topic, will.properties.as_raw(), will.payload);
    Ok(Box::new(engine::Will { message, delay_s: will.delay_s, message_expiry_s: will.message_expiry_s }))
}

/// A topic name that the protocol allows, by the limits of this server.
#[inline]
fn check_topic(topic: &str, settings: &MqttSettings) -> Result<(), Unacceptable> {
    let levels = usize::from(settings.topic_levels);
    // It has at most one level more than bytes, so that most need no count.
    let too_deep = topic.len() >= levels && topic.bytes().filter(|byte| *byte == b'/').count() >= levels;
    if too_deep || topic.len() > usize::from(settings.topic_length) {
        return Err(Unacceptable::Topic);
    }
    let reserved = topic.strip_prefix(RESERVED).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if reserved { Err(Unacceptable::Reserved) } else { Ok(()) }
}

#[inline]
fn span(range: Range<u32>) -> Span {
    Span { start: range.start, len: range.end - range.start }
}

fn encoding(version: Version) -> Encoding {
    if version.is_5() { Encoding::Mqtt5 } else { Encoding::Mqtt3 }
}

/// What is acknowledged survives.
fn persistence(qos: QoS) -> Persistence {
    if qos == QoS::AtMostOnce { Persistence::NonPersistent } else { Persistence::Persistent }
}

#[inline]
pub(crate) fn qos_in(qos: proto::QoS) -> QoS {
    match qos {
        proto::QoS::AtMostOnce => QoS::AtMostOnce,
        proto::QoS::AtLeastOnce => QoS::AtLeastOnce,
        proto::QoS::ExactlyOnce => QoS::ExactlyOnce,
    }
}

#[inline]
pub(crate) fn qos_out(qos: QoS) -> proto::QoS {
    match qos {
        QoS::AtMostOnce => proto::QoS::AtMostOnce,
        QoS::AtLeastOnce => proto::QoS::AtLeastOnce,
        QoS::ExactlyOnce => proto::QoS::ExactlyOnce,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> MqttSettings {
        MqttSettings { topic_length: 8, topic_levels: 3, ..MqttSettings::default() }
    }

    #[test]
    fn topics_are_limited_in_length_and_depth_exactly() {
        assert_eq!(check_topic("a/b/c", &settings()), Ok(()));
        assert_eq!(check_topic("a/b/c/d", &settings()), Err(Unacceptable::Topic));
        assert_eq!(check_topic("///", &settings()), Err(Unacceptable::Topic));
        assert_eq!(check_topic("12345678", &settings()), Ok(()));
        assert_eq!(check_topic("123456789", &settings()), Err(Unacceptable::Topic));
    }

    #[test]
    fn only_the_server_publishes_below_sys() {
        assert_eq!(check_topic("$SYS/x", &settings()), Err(Unacceptable::Reserved));
        assert_eq!(check_topic("$SYS", &settings()), Err(Unacceptable::Reserved));
        assert_eq!(check_topic("$SYSTEM", &settings()), Ok(()));
        assert_eq!(check_topic("$other/x", &settings()), Ok(()));
    }
}
