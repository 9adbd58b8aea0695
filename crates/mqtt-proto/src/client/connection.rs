//! The state machine of a connection as its client sees it.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::ack::short_ack;
use crate::frame::{Frame, PacketKind};
use crate::packet::decode_ping;
use crate::topic_alias::IncomingAliases;
use crate::{
    Ack, Auth, Connack, Connect, DecodeError, Disconnect, Publish, QoS, ReasonCode, Suback, Version,
    Violation,
};

/// Where a connection stands.
///
/// ```text
///                 CONNACK, success
/// AwaitingConnack ────────────────▶ Connected
///        │ CONNACK, error               │ DISCONNECT, either way
///        └─────────▶ Closed ◀───────────┘
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// CONNECT was written; CONNACK or AUTH must come next (MQTT-3.2.0-1).
    AwaitingConnack,
    /// The server took us.
    Connected,
    /// Nothing more is read.
    Closed,
}

/// What the server says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The answer to CONNECT; without success the connection is [`State::Closed`].
    /// Boxed, as it is large and the events that come often are moved about.
    Connack(Box<Connack<'a>>),
    /// A message, its topic resolved; to be answered by [`Connection::puback`] or [`Connection::pubrec`].
    Publish(Publish<'a>),
    /// Our QoS 1 message is taken.
    Puback(Ack<'a>),
    /// Our QoS 2 message is taken; unless it is an error, to be answered by [`Connection::pubrel`].
    Pubrec(Ack<'a>),
    /// A QoS 2 delivery is released; to be answered by [`Connection::pubcomp`].
    Pubrel(Ack<'a>),
    /// Our QoS 2 message is settled.
    Pubcomp(Ack<'a>),
    /// The answer to SUBSCRIBE.
    Suback(Suback<'a>),
    /// The answer to UNSUBSCRIBE.
    Unsuback(Suback<'a>),
    /// The server lives.
    Pingresp,
    /// The server leaves: the connection is [`State::Closed`].
    Disconnect(Disconnect<'a>),
    /// A step of an extended authentication.
    Auth(Auth<'a>),
}

/// A connection as its client sees it. Packet identifiers and the window of unacknowledged messages are the caller's:
/// see [`Connection::server_receive_maximum`].
#[derive(Debug)]
pub struct Connection {
    last_ping_ms: u64,
    aliases_in: Option<Box<IncomingAliases>>,
    pub(super) server_maximum_packet_size: u32,
    /// Milliseconds between PINGREQs; 0: none are sent.
    ping_interval_ms: u32,
    maximum_packet_size: u32,
    receive_maximum: u16,
    topic_alias_maximum: u16,
    /// QoS 1 and 2 messages that came and that we have not settled.
    pub(super) unacknowledged: u16,
    server_receive_maximum: u16,
    server_topic_alias_maximum: u16,
    pub(super) version: Version,
    pub(super) state: State,
    ping_unanswered: bool,
}

impl<'a> Event<'a> {
    #[inline]
    fn of_ack(kind: PacketKind, ack: Ack<'a>) -> Event<'a> {
        match kind {
            PacketKind::Puback => Event::Puback(ack),
            PacketKind::Pubrec => Event::Pubrec(ack),
            PacketKind::Pubrel => Event::Pubrel(ack),
            _ => Event::Pubcomp(ack),
        }
    }
}

impl Connection {
    /// A connection that begins now: appends `connect`.
    pub fn new(connect: &Connect<'_>, now_ms: u64, out: &mut Vec<u8>) -> Connection {
        connect.encode(out);
        Connection {
            last_ping_ms: now_ms,
            aliases_in: None,
            server_maximum_packet_size: u32::MAX,
            ping_interval_ms: ping_interval_ms(connect.keep_alive_s),
            maximum_packet_size: connect.maximum_packet_size.unwrap_or(u32::MAX),
            receive_maximum: connect.receive_maximum,
            topic_alias_maximum: connect.topic_alias_maximum,
            unacknowledged: 0,
            server_receive_maximum: u16::MAX,
            server_topic_alias_maximum: 0,
            version: connect.version,
            state: State::AwaitingConnack,
            ping_unanswered: false,
        }
    }

    /// Where it stands.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// The version that is spoken.
    #[inline]
    pub fn version(&self) -> Version {
        self.version
    }

    /// QoS 1 and 2 messages that the server takes unacknowledged; 65,535 in 3.x.
    pub fn server_receive_maximum(&self) -> u16 {
        self.server_receive_maximum
    }

    /// Highest topic alias that the server accepts; 0: none.
    pub fn server_topic_alias_maximum(&self) -> u16 {
        self.server_topic_alias_maximum
    }

    /// The first packet in `input` as an event, and its length in bytes; `None` if it is not complete, or if the
    /// connection is closed. After an error nothing more can be read.
    #[inline]
    pub fn handle_input<'a>(&'a mut self, input: &'a [u8]) -> Result<Option<(Event<'a>, usize)>, Violation> {
        if self.state == State::Closed {
            return Ok(None);
        }
        // The packets that come a million times a second first, each built where it is returned.
        if let (State::Connected, Some((kind, packet_id))) = (self.state, short_ack(input)) {
            return Ok(Some((Event::of_ack(kind, Ack::success(packet_id)), 4)));
        }
        let Some(frame) = Frame::split(input, self.maximum_packet_size)? else { return Ok(None) };
        if self.state == State::AwaitingConnack && !may_come_first(frame.kind, self.version) {
            return Err(DecodeError::protocol("MQTT-3.2.0-1"));
        }
        let len = frame.len;
        if frame.kind == PacketKind::Publish {
            return Ok(Some((Event::Publish(self.receive_publish(frame)?), len)));
        }
        Ok(Some((self.event(frame)?, len)))
    }

    fn event<'a>(&mut self, frame: Frame<'a>) -> Result<Event<'a>, Violation> {
        let version = self.version;
        match frame.kind {
            PacketKind::Puback | PacketKind::Pubrec | PacketKind::Pubrel | PacketKind::Pubcomp => {
                Ok(Event::of_ack(frame.kind, Ack::decode(frame, version)?))
            }
            PacketKind::Connack if self.state == State::AwaitingConnack => {
                Ok(Event::Connack(Box::new(self.receive_connack(frame)?)))
            }
            PacketKind::Connack => Err(DecodeError::protocol("MQTT-3.2.0-2")),
            PacketKind::Suback => Ok(Event::Suback(Suback::decode(frame, version)?)),
            PacketKind::Unsuback => Ok(Event::Unsuback(Suback::decode(frame, version)?)),
            PacketKind::Pingresp => {
                decode_ping(frame, version)?;
                self.ping_unanswered = false;
                Ok(Event::Pingresp)
            }
            PacketKind::Disconnect if version.is_5() => {
                Ok(Event::Disconnect(self.receive_disconnect(frame)?))
            }
            PacketKind::Auth => Ok(Event::Auth(Auth::decode(frame, version)?)),
            // What only clients send (table 2-1).
            _ => Err(DecodeError::protocol("MQTT-5 2.1.2")),
        }
    }

    #[inline(always)]
    fn receive_publish<'a>(&'a mut self, frame: Frame<'a>) -> Result<Publish<'a>, Violation> {
        let mut publish = Publish::decode(frame, self.version)?;
        if !self.version.is_5() {
            return Ok(publish);
        }
        if publish.qos != QoS::AtMostOnce {
            if self.unacknowledged >= self.receive_maximum {
                return Err(DecodeError::new(ReasonCode::ReceiveMaximumExceeded, "MQTT-3.3.4-9"));
            }
            self.unacknowledged += 1;
        }
        if let Some(alias) = publish.topic_alias {
            let maximum = self.topic_alias_maximum;
            self.aliases_in.get_or_insert_default().resolve(&mut publish, alias, maximum)?;
        }
        Ok(publish)
    }

    fn receive_connack<'a>(&mut self, frame: Frame<'a>) -> Result<Connack<'a>, Violation> {
        let connack = Connack::decode(frame, self.version)?;
        self.state = if connack.reason.is_error() { State::Closed } else { State::Connected };
        self.server_receive_maximum = connack.receive_maximum;
        self.server_topic_alias_maximum = connack.topic_alias_maximum;
        self.server_maximum_packet_size = connack.maximum_packet_size.unwrap_or(u32::MAX);
        if let Some(seconds) = connack.server_keep_alive_s {
            self.ping_interval_ms = ping_interval_ms(seconds);
        }
        Ok(connack)
    }

    fn receive_disconnect<'a>(&mut self, frame: Frame<'a>) -> Result<Disconnect<'a>, Violation> {
        let disconnect = Disconnect::decode(frame, self.version)?;
        if disconnect.session_expiry_s.is_some() {
            return Err(DecodeError::protocol("MQTT-3.14.2-2"));
        }
        self.state = State::Closed;
        Ok(disconnect)
    }

    /// When to call [`Connection::handle_timeout`], in the milliseconds of `now_ms`; `None`: never.
    pub fn poll_timeout(&self) -> Option<u64> {
        let waits = self.state == State::Connected && self.ping_interval_ms != 0;
        waits.then(|| self.last_ping_ms + u64::from(self.ping_interval_ms))
    }

    /// Appends PINGREQ when it is time, whether or not other packets were sent meanwhile (MQTT-3.1.2-20). An error if
    /// the last one was not answered.
    pub fn handle_timeout(&mut self, now_ms: u64, out: &mut Vec<u8>) -> Result<(), Violation> {
        if self.poll_timeout().is_none_or(|due| due > now_ms) {
            return Ok(());
        }
        if self.ping_unanswered {
            return Err(DecodeError::new(ReasonCode::KeepAliveTimeout, "MQTT-3.12.4-1"));
        }
        self.last_ping_ms = now_ms;
        self.ping_unanswered = true;
        self.pingreq(out);
        Ok(())
    }
}

/// A tenth before the keep alive is over.
fn ping_interval_ms(keep_alive_s: u16) -> u32 {
    u32::from(keep_alive_s) * 900
}

/// A refused extended authentication may end with DISCONNECT in practice, though 4.12 names CONNACK only.
fn may_come_first(kind: PacketKind, version: Version) -> bool {
    match kind {
        PacketKind::Connack => true,
        PacketKind::Auth | PacketKind::Disconnect => version.is_5(),
        _ => false,
    }
}
