//! The state machine of a connection as its server sees it.

use alloc::boxed::Box;

use super::Settings;
use crate::ack::short_ack;
use crate::frame::{Frame, PacketKind};
use crate::packet::decode_ping;
use crate::topic_alias::{IncomingAliases, OutgoingAliases};
use crate::{
    Ack, Auth, Connect, DecodeError, Disconnect, Publish, ReasonCode, Subscribe, Unsubscribe, Version,
    Violation,
};

/// Where a connection stands.
///
/// ```text
///                      CONNECT                     accept
/// AwaitingConnect ──────────────────▶ Accepting ─────────────▶ Connected ⟲ AUTH (re-authentication)
///        │    │ CONNECT with an           ▲ authenticated          │
///        │    │ authentication method     │                        │
///        │    └─────────────────▶ Authenticating ⟲ AUTH            │
///        ▼                                ▼                        ▼
///     Closing ◀──────── refuse, close, reject, DISCONNECT of the client
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Nothing came yet; the first packet must be CONNECT (MQTT-3.1.0-1).
    #[default]
    AwaitingConnect,
    /// An extended authentication is under way: the client may send AUTH and DISCONNECT only (MQTT-3.1.2-30).
    Authenticating,
    /// CONNECT was handed out. Packets that the client sends without waiting for CONNACK are handed out too (3.1.4
    /// allows them); if the client is refused they must have no effect (MQTT-3.1.4-6).
    Accepting,
    /// CONNACK with success was written.
    Connected,
    /// Nothing more is read or written; to be closed when what was written is sent.
    Closing,
}

/// What a client wants, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// To be answered by [`Connection::accept`] or [`Connection::refuse`]; in [`State::Authenticating`] by
    /// [`Connection::auth`] first.
    /// Boxed, as it is large and the events that come often are moved about.
    Connect(Box<Connect<'a>>),
    /// With its topic resolved. To be answered by [`Connection::puback`] or [`Connection::pubrec`].
    Publish(Publish<'a>),
    /// A QoS 1 delivery arrived.
    Puback(Ack<'a>),
    /// A QoS 2 delivery arrived; unless it is an error, to be answered by [`Connection::pubrel`].
    Pubrec(Ack<'a>),
    /// The client releases a QoS 2 message; to be answered by [`Connection::pubcomp`].
    Pubrel(Ack<'a>),
    /// A QoS 2 delivery is over.
    Pubcomp(Ack<'a>),
    /// To be answered by [`Connection::suback`].
    Subscribe(Subscribe<'a>),
    /// To be answered by [`Connection::unsuback`].
    Unsubscribe(Unsubscribe<'a>),
    /// To be answered by [`Connection::pingresp`].
    Pingreq,
    /// The client leaves: the connection is [`State::Closing`].
    Disconnect(Disconnect<'a>),
    /// A step of an extended authentication; to be answered by [`Connection::auth`],
    /// [`Connection::accept`] or [`Connection::close`].
    Auth(Auth<'a>),
}

/// A connection as its server sees it: bytes in, [`Event`]s out; answers are methods that append to a buffer.
///
/// It counts what the client may not exceed, but keeps no session: packet identifiers and the deliveries within
/// the client's receive maximum ([`Connect::receive_maximum`]) are the queue manager's.
#[derive(Debug)]
pub struct Connection {
    /// Of the last packet once connected, before that of the beginning.
    pub(super) last_input_ms: u64,
    /// What few clients need.
    pub(super) rare: Option<Box<Rare>>,
    pub(super) settings: Settings,
    /// Largest packet that the client takes, in bytes.
    pub(super) client_maximum_packet_size: u32,
    /// One and a half times the keep alive; 0: none.
    pub(super) silence_ms: u32,
    /// QoS 1 and 2 messages of the client that were not acknowledged yet, at most `settings.receive_maximum`.
    pub(super) unacknowledged: u16,
    /// Aliases that we may give: the least of what the client accepts and our own limit.
    pub(super) alias_maximum_out: u16,
    /// Seconds; as the client asked for.
    pub(super) keep_alive_s: u16,
    pub(super) version: Version,
    pub(super) state: State,
    /// Whether CONNECT was readable enough to be answered.
    pub(super) knows_version: bool,
    /// MQTT-3.1.2-29.
    pub(super) problem_information: bool,
    /// Whether the session ends with the connection, as CONNECT said (3.14.2.2.2).
    pub(super) session_ends: bool,
    /// Whether the client has started to authenticate anew (4.12.1).
    pub(super) reauthenticating: bool,
}

#[derive(Debug, Default)]
pub(super) struct Rare {
    pub(super) aliases_in: IncomingAliases,
    pub(super) aliases_out: OutgoingAliases,
    pub(super) authentication_method: Option<Box<str>>,
}

// Each idle connection costs this much; the transport's part comes on top.
const _: () = assert!(size_of::<Connection>() <= 80);

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
    /// A connection that came at `now_ms`.
    pub fn new(settings: &Settings, now_ms: u64) -> Connection {
        Connection {
            last_input_ms: now_ms,
            rare: None,
            settings: *settings,
            client_maximum_packet_size: u32::MAX,
            silence_ms: 0,
            unacknowledged: 0,
            alias_maximum_out: 0,
            keep_alive_s: 0,
            version: Version::default(),
            state: State::AwaitingConnect,
            knows_version: false,
            problem_information: true,
            session_ends: true,
            reauthenticating: false,
        }
    }

    /// Where it stands.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// The version that the client speaks; meaningless before CONNECT.
    #[inline]
    pub fn version(&self) -> Version {
        self.version
    }

    /// The first packet in `input` as an event, and its length in bytes; `None` if it is not complete, or if the
    /// connection is closing. After an error nothing more can be read: [`Connection::reject`] it.
    #[inline]
    pub fn handle_input<'a>(
        &'a mut self,
        now_ms: u64,
        input: &'a [u8],
    ) -> Result<Option<(Event<'a>, usize)>, Violation> {
        if self.state != State::Connected {
            return self.handle_early_input(input);
        }
        // The packets that come a million times a second first, each built where it is returned.
        if let Some((kind, packet_id)) = short_ack(input) {
            self.last_input_ms = now_ms;
            return Ok(Some((Event::of_ack(kind, Ack::success(packet_id)), 4)));
        }
        let Some(frame) = Frame::split(input, self.settings.maximum_packet_size)? else { return Ok(None) };
        self.last_input_ms = now_ms;
        let len = frame.len;
        if frame.kind == PacketKind::Publish {
            return Ok(Some((Event::Publish(self.receive_publish(frame)?), len)));
        }
        Ok(Some((self.event(frame)?, len)))
    }

    pub(super) fn event<'a>(&'a mut self, frame: Frame<'a>) -> Result<Event<'a>, Violation> {
        let version = self.version;
        match frame.kind {
            PacketKind::Publish => Ok(Event::Publish(self.receive_publish(frame)?)),
            PacketKind::Puback | PacketKind::Pubrec | PacketKind::Pubrel | PacketKind::Pubcomp => {
                Ok(Event::of_ack(frame.kind, Ack::decode(frame, version)?))
            }
            PacketKind::Subscribe => Ok(Event::Subscribe(self.receive_subscribe(frame)?)),
            PacketKind::Unsubscribe => Ok(Event::Unsubscribe(Unsubscribe::decode(frame, self.version)?)),
            PacketKind::Pingreq => decode_ping(frame, self.version).map(|()| Event::Pingreq),
            PacketKind::Disconnect => Ok(Event::Disconnect(self.receive_disconnect(frame)?)),
            PacketKind::Auth => Ok(Event::Auth(self.receive_auth(frame)?)),
            PacketKind::Connect => Err(DecodeError::protocol("MQTT-3.1.0-2")),
            // What only servers send (table 2-1).
            _ => Err(DecodeError::protocol("MQTT-5 2.1.2")),
        }
    }

    fn receive_subscribe<'a>(&self, frame: Frame<'a>) -> Result<Subscribe<'a>, Violation> {
        let subscribe = Subscribe::decode(frame, self.version)?;
        if self.version.is_5() {
            self.check_available(&subscribe)?;
        }
        Ok(subscribe)
    }

    /// 5.0 clients were told what there is not; 3.x clients can only be refused filter by filter.
    fn check_available(&self, subscribe: &Subscribe<'_>) -> Result<(), Violation> {
        let Settings { wildcard_subscription_available, shared_subscription_available, .. } = self.settings;
        if subscribe.identifier.is_some() && !self.settings.subscription_identifier_available {
            let reason = ReasonCode::SubscriptionIdentifiersNotSupported;
            return Err(DecodeError::new(reason, "MQTT-5 3.2.2.3.12"));
        }
        if wildcard_subscription_available && shared_subscription_available {
            return Ok(());
        }
        for filter in subscribe.filters.iter().map(|subscription| subscription.filter) {
            if !shared_subscription_available && filter.starts_with("$share/") {
                let reason = ReasonCode::SharedSubscriptionsNotSupported;
                return Err(DecodeError::new(reason, "MQTT-5 3.2.2.3.13"));
            }
            if !wildcard_subscription_available && filter.contains(['+', '#']) {
                let reason = ReasonCode::WildcardSubscriptionsNotSupported;
                return Err(DecodeError::new(reason, "MQTT-5 3.2.2.3.11"));
            }
        }
        Ok(())
    }

    pub(super) fn receive_disconnect<'a>(&mut self, frame: Frame<'a>) -> Result<Disconnect<'a>, Violation> {
        let disconnect = Disconnect::decode(frame, self.version)?;
        if !disconnect.reason.is_legal_in_client_disconnect() {
            return Err(DecodeError::protocol("MQTT-3.14.2-1"));
        }
        if disconnect.server_reference.is_some() {
            return Err(DecodeError::protocol("MQTT-5 3.14.2.2.5"));
        }
        // A session that was to end with the connection can't be prolonged at its end.
        if self.session_ends && disconnect.session_expiry_s.is_some_and(|seconds| seconds != 0) {
            return Err(DecodeError::protocol("MQTT-5 3.14.2.2.2"));
        }
        self.state = State::Closing;
        Ok(disconnect)
    }

    /// When to call [`Connection::handle_timeout`], in the milliseconds of `now_ms`; `None`: never. It moves with each
    /// packet, so a timer need only be set anew when it has gone off.
    #[inline]
    pub fn poll_timeout(&self) -> Option<u64> {
        match self.state {
            State::Closing => None,
            State::Connected if self.silence_ms == 0 => None,
            State::Connected => Some(self.last_input_ms + u64::from(self.silence_ms)),
            _ => Some(self.last_input_ms + u64::from(self.settings.connect_timeout_ms)),
        }
    }

    /// An error if the client has kept silent for too long (MQTT-3.1.2-22); to be [`Connection::reject`]ed.
    pub fn handle_timeout(&mut self, now_ms: u64) -> Result<(), Violation> {
        match self.poll_timeout() {
            Some(deadline) if deadline <= now_ms => Err(self.silence()),
            _ => Ok(()),
        }
    }

    fn silence(&self) -> Violation {
        if self.state == State::Connected {
            return DecodeError::new(ReasonCode::KeepAliveTimeout, "MQTT-3.1.2-22");
        }
        DecodeError::new(ReasonCode::UnspecifiedError, "MQTT-5 3.1.4")
    }

    pub(super) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }
}
