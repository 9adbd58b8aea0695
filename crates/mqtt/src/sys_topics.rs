//! `$SYS` topics: figures of the server as retained messages. Each is documented in `docs/reference/sys-topics.md`.

use ferrymq_message::{Descriptor, Message, Timestamp};
use ferrymq_transport as transport;

use crate::Statistics;
use crate::engine::{self, Command, ConnectionId, DeliveryTag, Publish};

/// What the topics are made of.
#[derive(Clone, Copy, Debug)]
pub struct Figures<'a> {
    /// Of the queue manager.
    pub queue_manager: &'a engine::Statistics,
    /// Of the MQTT service.
    pub service: &'a Statistics,
    /// Of the loop.
    pub transport: &'a transport::Statistics,
}

/// Publishes the figures every so often, as far as they have changed.
#[derive(Debug)]
pub struct SysTopics {
    interval_ms: u64,
    started: Timestamp,
    next: Timestamp,
    /// What was published last, in the order of [`TOPICS`].
    published: Vec<String>,
}

/// A topic, and its value from the figures and the uptime in seconds.
type Topic = (&'static str, fn(&Figures<'_>, u64) -> String);

/// Below `$SYS/broker/`, named as by other brokers where they have the figure.
const TOPICS: &[Topic] = &[
    ("version", |_, _| concat!("FerryMQ ", env!("CARGO_PKG_VERSION")).into()),
    ("uptime", |_, uptime_s| format!("{uptime_s} seconds")),
    ("clients/connected", |figures, _| figures.service.connected.to_string()),
    ("clients/disconnected", |figures, _| {
        figures.queue_manager.sessions.saturating_sub(figures.queue_manager.connections).to_string()
    }),
    ("clients/total", |figures, _| figures.queue_manager.sessions.to_string()),
    ("clients/maximum", |figures, _| figures.service.connected_maximum.to_string()),
    ("clients/expired", |figures, _| figures.queue_manager.sessions_expired.to_string()),
    ("clients/refused", |figures, _| figures.service.refused.to_string()),
    ("clients/taken over", |figures, _| figures.queue_manager.taken_over.to_string()),
    ("connections/accepted", |figures, _| figures.transport.accepted.to_string()),
    ("subscriptions/count", |figures, _| figures.queue_manager.subscriptions.to_string()),
    ("retained messages/count", |figures, _| figures.queue_manager.retained.to_string()),
    ("retained messages/bytes", |figures, _| figures.queue_manager.retained_bytes.to_string()),
    ("messages/received", |figures, _| figures.service.packets_received.to_string()),
    ("messages/sent", |figures, _| figures.service.packets_sent.to_string()),
    ("messages/stored", |figures, _| {
        (figures.queue_manager.queued + figures.queue_manager.retained).to_string()
    }),
    ("messages/queued", |figures, _| figures.queue_manager.queued.to_string()),
    ("messages/expired", |figures, _| figures.queue_manager.expired.to_string()),
    ("store/messages/count", |figures, _| {
        (figures.queue_manager.queued + figures.queue_manager.retained).to_string()
    }),
    ("store/messages/bytes", |figures, _| {
        (figures.queue_manager.resident_bytes + figures.queue_manager.retained_bytes).to_string()
    }),
    ("publish/messages/received", |figures, _| figures.service.publishes_received.to_string()),
    ("publish/messages/sent", |figures, _| figures.service.publishes_sent.to_string()),
    ("publish/messages/dropped", |figures, _| dropped(figures).to_string()),
    ("publish/messages/refused", |figures, _| {
        (figures.service.publishes_refused
            + figures.queue_manager.refused_queue_full
            + figures.queue_manager.refused_storage_full)
            .to_string()
    }),
    ("publish/messages/unmatched", |figures, _| figures.queue_manager.unmatched.to_string()),
    ("publish/bytes/received", |figures, _| figures.service.publish_bytes_received.to_string()),
    ("publish/bytes/sent", |figures, _| figures.service.publish_bytes_sent.to_string()),
    ("bytes/received", |figures, _| figures.transport.bytes_in.to_string()),
    ("bytes/sent", |figures, _| figures.transport.bytes_out.to_string()),
    ("log/bytes", |figures, _| figures.queue_manager.live_log_bytes.to_string()),
];

impl SysTopics {
    /// Publishes every `interval_s` seconds from `now` on; never if that is 0.
    pub fn new(interval_s: u32, now: Timestamp) -> SysTopics {
        let next = if interval_s == 0 { Timestamp::NEVER } else { now };
        let published = vec![String::new(); TOPICS.len()];
        SysTopics { interval_ms: u64::from(interval_s) * 1_000, started: now, next, published }
    }

    /// When [`SysTopics::publish`] has something to do; [`Timestamp::NEVER`] if it never has.
    pub fn next(&self) -> Timestamp {
        self.next
    }

    /// If it is time, a command for each topic whose value has changed.
    pub fn publish(&mut self, figures: &Figures<'_>, now: Timestamp, commands: &mut Vec<Command>) {
        if now < self.next || self.next == Timestamp::NEVER {
            return;
        }
        self.next = now.plus_ms(self.interval_ms);
        let uptime_s = now.ms_since(self.started) / 1_000;
        for ((name, value), published) in TOPICS.iter().zip(&mut self.published) {
            let value = value(figures, uptime_s);
            if value != *published {
                commands.push(command(name, &value, now));
                *published = value;
            }
        }
    }
}

/// Copies that were not delivered, whatever the cause.
fn dropped(figures: &Figures<'_>) -> u64 {
    let Figures { queue_manager, service, .. } = figures;
    service.dropped_qos0
        + service.dropped_too_large
        + queue_manager.dropped
        + queue_manager.discarded_queue_full
}

fn command(name: &str, value: &str, now: Timestamp) -> Command {
    let descriptor = Descriptor { retain: true, put_time: now, ..Descriptor::default() };
    let topic = format!("$SYS/broker/{name}");
    Command::Publish(Publish {
        connection: ConnectionId::SERVER,
        message: Message::from_parts(descriptor, &topic, &[], value.as_bytes()),
        tag: DeliveryTag::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published(topics: &mut SysTopics, service: &Statistics, now: u64) -> Vec<(String, String)> {
        let figures = Figures {
            queue_manager: &engine::Statistics::default(),
            service,
            transport: &transport::Statistics::default(),
        };
        let mut commands = Vec::new();
        topics.publish(&figures, Timestamp(now), &mut commands);
        let of = |command| match command {
            Command::Publish(Publish { message, connection: ConnectionId::SERVER, .. }) => {
                assert!(message.descriptor().retain);
                (message.topic().to_owned(), String::from_utf8_lossy(message.body()).into_owned())
            }
            other => panic!("not of the server: {other:?}"),
        };
        commands.into_iter().map(of).collect()
    }

    #[test]
    fn at_first_everything_is_published_then_what_has_changed() {
        let mut topics = SysTopics::new(10, Timestamp(1_000));
        let mut service = Statistics::default();
        assert_eq!(published(&mut topics, &service, 1_000).len(), TOPICS.len());
        service.connected = 3;
        assert_eq!(published(&mut topics, &service, 10_999), []);
        let changed = [("uptime", "10 seconds"), ("clients/connected", "3")];
        let expected = changed.map(|(name, value)| (format!("$SYS/broker/{name}"), value.to_owned()));
        assert_eq!(published(&mut topics, &service, 11_000), expected);
    }

    #[test]
    fn an_interval_of_0_publishes_nothing() {
        let mut topics = SysTopics::new(0, Timestamp(1_000));
        assert_eq!(topics.next(), Timestamp::NEVER);
        assert_eq!(published(&mut topics, &Statistics::default(), u64::MAX), []);
    }

    #[test]
    fn every_topic_is_documented() {
        let reference = include_str!("../../../docs/reference/sys-topics.md");
        for (name, _) in TOPICS {
            assert!(reference.contains(&format!("| `$SYS/broker/{name}` |")), "{name}");
        }
    }
}
