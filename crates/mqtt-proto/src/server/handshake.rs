//! From the first byte to CONNACK, and how a connection ends.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::connection::{Connection, Event, State};
use crate::connect::{PeerVersion, peer_version};
use crate::frame::{Frame, PacketKind};
use crate::server::settings::LARGEST_PACKET;
use crate::{Auth, Connack, Connect, DecodeError, Diagnostics, Disconnect, ReasonCode, Version, Violation};

/// What to tell a client that is accepted, beyond the [`super::Settings`]. A 3.x client is told `session_present` only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accept<'a> {
    /// Whether the server has state of this client from before (MQTT-3.2.2-2).
    pub session_present: bool,
    /// If it is not what the client asked for, in seconds (3.2.2.3.2).
    pub session_expiry_s: Option<u32>,
    /// Where the client left the choice to the server (MQTT-3.2.2-16).
    pub assigned_client_id: Option<&'a str>,
    /// Overrides the client's keep alive, in seconds (MQTT-3.2.2-21). `None`: as
    /// [`super::Settings::keep_alive_maximum_s`] says.
    pub server_keep_alive_s: Option<u16>,
    /// Where the client asked for it (MQTT-3.1.2-28).
    pub response_information: Option<&'a str>,
    /// Another server that it may use.
    pub server_reference: Option<&'a str>,
    /// The last word of an extended authentication.
    pub authentication_data: Option<&'a [u8]>,
    /// For people.
    pub diagnostics: Diagnostics<'a>,
}

/// Why a connection ends, for the client.
#[derive(Clone, Copy, Debug, Default)]
pub struct Farewell<'a> {
    /// 0x80 or more, or [`ReasonCode::Success`]. Where the packet that is sent can't carry it: 0x80.
    pub reason: ReasonCode,
    /// For people.
    pub diagnostics: Diagnostics<'a>,
    /// Another server, with the reasons 0x9C and 0x9D.
    pub server_reference: Option<&'a str>,
}

impl<'a> From<ReasonCode> for Farewell<'a> {
    fn from(reason: ReasonCode) -> Farewell<'a> {
        Farewell { reason, ..Farewell::default() }
    }
}

impl Connection {
    pub(super) fn handle_early_input<'a>(
        &'a mut self,
        input: &'a [u8],
    ) -> Result<Option<(Event<'a>, usize)>, Violation> {
        let Some(first) = input.first() else { return Ok(None) };
        let kind = PacketKind::from_first_byte(*first);
        match (self.state, kind) {
            (State::Closing, _) => return Ok(None),
            (State::AwaitingConnect, Some(PacketKind::Connect)) => {}
            // Whatever this is, there is no use in waiting for all of it.
            (State::AwaitingConnect, _) => return Err(DecodeError::protocol("MQTT-3.1.0-1")),
            (State::Authenticating, Some(PacketKind::Auth | PacketKind::Disconnect)) => {}
            (State::Authenticating, _) => return Err(DecodeError::protocol("MQTT-3.1.2-30")),
            _ => {}
        }
        let Some(frame) = Frame::split(input, self.early_packet_size())? else { return Ok(None) };
        let event = match frame.kind {
            PacketKind::Connect if self.state == State::AwaitingConnect => {
                Event::Connect(Box::new(self.receive_connect(frame)?))
            }
            _ => self.event(frame)?,
        };
        Ok(Some((event, frame.len)))
    }

    /// The large limit applies once the client is known.
    fn early_packet_size(&self) -> u32 {
        match self.state {
            State::AwaitingConnect | State::Authenticating => {
                self.settings.maximum_packet_size_before_connect
            }
            _ => self.settings.maximum_packet_size,
        }
    }

    fn receive_connect<'a>(&mut self, frame: Frame<'a>) -> Result<Connect<'a>, Violation> {
        // First of all the version: it decides how an error is answered.
        match peer_version(frame.body) {
            PeerVersion::Known(version) => (self.version, self.knows_version) = (version, true),
            // 3.1.2.2: 0x84 in CONNACK; who speaks an older protocol understands return code 1.
            PeerVersion::Unsupported(level) => {
                self.version = if level > Version::V5 as u8 { Version::V5 } else { Version::V3_1_1 };
                self.knows_version = true;
            }
            PeerVersion::NotMqtt => {}
        }
        let connect = Connect::decode(frame)?;
        self.check_connect(&connect)?;
        self.keep_alive_s = connect.keep_alive_s;
        self.session_ends = connect.session_expiry_s == 0;
        self.problem_information = connect.request_problem_information;
        self.client_maximum_packet_size = connect.maximum_packet_size.unwrap_or(u32::MAX);
        self.alias_maximum_out = connect.topic_alias_maximum.min(self.settings.topic_alias_maximum_out);
        self.state = State::Accepting;
        if let Some(method) = connect.authentication_method {
            self.rare().authentication_method = Some(method.into());
            self.state = State::Authenticating;
        }
        Ok(connect)
    }

    fn check_connect(&self, connect: &Connect<'_>) -> Result<(), Violation> {
        // Only 5.0 lets a client come without an identifier to a session that stays; 3.1 not at all.
        let anonymous = match connect.version {
            Version::V3_1 => false,
            Version::V3_1_1 => connect.clean_start,
            Version::V5 => true,
        };
        if connect.client_id.is_empty() && !anonymous {
            return Err(DecodeError::new(ReasonCode::ClientIdentifierNotValid, "MQTT-3.1.3-8"));
        }
        let Some(will) = &connect.will else { return Ok(()) };
        if will.qos > self.settings.maximum_qos {
            return Err(DecodeError::new(ReasonCode::QoSNotSupported, "MQTT-3.2.2-12"));
        }
        if will.retain && !self.settings.retain_available {
            return Err(DecodeError::new(ReasonCode::RetainNotSupported, "MQTT-3.2.2-13"));
        }
        if !will.payload_format_is_valid() {
            return Err(DecodeError::new(ReasonCode::PayloadFormatInvalid, "MQTT-5 3.1.3.2.3"));
        }
        Ok(())
    }

    pub(super) fn receive_auth<'a>(&mut self, frame: Frame<'a>) -> Result<Auth<'a>, Violation> {
        let auth = Auth::decode(frame, self.version)?;
        let Some(method) = self.rare.as_ref().and_then(|rare| rare.authentication_method.as_deref()) else {
            return Err(DecodeError::protocol("MQTT-4.12.0-7"));
        };
        if auth.method != Some(method) {
            let clause = if self.state == State::Connected { "MQTT-4.12.1-1" } else { "MQTT-4.12.0-5" };
            return Err(DecodeError::new(ReasonCode::BadAuthenticationMethod, clause));
        }
        match (auth.reason, self.state) {
            (ReasonCode::ReAuthenticate, State::Connected) => self.reauthenticating = true,
            (ReasonCode::ContinueAuthentication, State::Authenticating) => {}
            (ReasonCode::ContinueAuthentication, State::Connected) if self.reauthenticating => {}
            // Table 3-14: success is the server's to say, and each of the others has its time.
            _ => return Err(DecodeError::protocol("MQTT-3.15.2-1")),
        }
        Ok(auth)
    }

    /// Appends AUTH: the next step, or in a re-authentication its success. The method is that of CONNECT
    /// (MQTT-4.12.0-5).
    pub fn auth(
        &mut self,
        reason: ReasonCode,
        data: Option<&[u8]>,
        diagnostics: &Diagnostics<'_>,
        out: &mut Vec<u8>,
    ) {
        if reason == ReasonCode::Success {
            self.reauthenticating = false;
        }
        let method = self.rare.as_ref().and_then(|rare| rare.authentication_method.as_deref());
        self.within_limits(self.allowed(diagnostics), out, |diagnostics, out| {
            Auth { reason, method, data, diagnostics }.encode(out);
        });
    }

    /// Ends an authentication that needed no more than CONNECT: packets are handed out though CONNACK was not sent.
    pub fn authenticated(&mut self) {
        if self.state == State::Authenticating {
            self.state = State::Accepting;
        }
    }

    /// Appends CONNACK with success: the client is connected (MQTT-3.2.0-1). If it takes only packets smaller than that
    /// one, nothing can be sent to it and its time to connect runs out.
    pub fn accept(&mut self, now_ms: u64, accept: &Accept<'_>, out: &mut Vec<u8>) {
        let override_s = accept.server_keep_alive_s.or_else(|| self.keep_alive_override());
        let server_keep_alive_s = override_s.filter(|_| self.version.is_5());
        let keep_alive_s = server_keep_alive_s.unwrap_or(self.keep_alive_s);
        let connack = Connack { server_keep_alive_s, ..self.connack(accept) };
        let written = self.within_limits(accept.diagnostics, out, |diagnostics, out| {
            Connack { diagnostics, ..connack }.encode(self.version, out);
        });
        if written {
            self.silence_ms = u32::from(keep_alive_s) * 1_500;
            self.last_input_ms = now_ms;
            self.state = State::Connected;
        }
    }

    fn keep_alive_override(&self) -> Option<u16> {
        let maximum = self.settings.keep_alive_maximum_s;
        (maximum != 0 && (self.keep_alive_s == 0 || self.keep_alive_s > maximum)).then_some(maximum)
    }

    fn connack<'a>(&'a self, accept: &Accept<'a>) -> Connack<'a> {
        let settings = &self.settings;
        let maximum = settings.maximum_packet_size;
        Connack {
            session_present: accept.session_present,
            session_expiry_s: accept.session_expiry_s,
            receive_maximum: settings.receive_maximum,
            maximum_qos: settings.maximum_qos,
            retain_available: settings.retain_available,
            maximum_packet_size: (maximum < LARGEST_PACKET).then_some(maximum),
            assigned_client_id: accept.assigned_client_id,
            topic_alias_maximum: settings.topic_alias_maximum,
            wildcard_subscription_available: settings.wildcard_subscription_available,
            subscription_identifier_available: settings.subscription_identifier_available,
            shared_subscription_available: settings.shared_subscription_available,
            response_information: accept.response_information,
            server_reference: accept.server_reference,
            authentication_method: self.rare.as_ref().and_then(|rare| rare.authentication_method.as_deref()),
            authentication_data: accept.authentication_data,
            ..Connack::new(ReasonCode::Success)
        }
    }

    /// Appends CONNACK with an error; the connection is closing (MQTT-3.2.2-7). For reasons that 3.x does not know
    /// a 3.x client gets nothing.
    pub fn refuse(&mut self, farewell: &Farewell<'_>, out: &mut Vec<u8>) {
        self.state = State::Closing;
        if !self.knows_version {
            return;
        }
        let reason = or_unspecified(farewell.reason, PacketKind::Connack);
        let connack = Connack { server_reference: farewell.server_reference, ..Connack::new(reason) };
        self.within_limits(farewell.diagnostics, out, |diagnostics, out| {
            Connack { diagnostics, ..connack }.encode(self.version, out);
        });
    }

    /// Appends the last packet that the client is to get, if there is one: DISCONNECT to a connected 5.0 client, else
    /// CONNACK as [`Connection::refuse`] (MQTT-3.14.0-1). The connection is closing.
    pub fn close(&mut self, farewell: &Farewell<'_>, out: &mut Vec<u8>) {
        match self.state {
            State::Closing => {}
            State::Connected => {
                self.state = State::Closing;
                self.disconnect(farewell, out);
            }
            _ => self.refuse(farewell, out),
        }
    }

    fn disconnect(&self, farewell: &Farewell<'_>, out: &mut Vec<u8>) {
        if !self.version.is_5() {
            return;
        }
        let reason = or_unspecified(farewell.reason, PacketKind::Disconnect);
        self.within_limits(farewell.diagnostics, out, |diagnostics, out| {
            let server_reference = farewell.server_reference;
            Disconnect { reason, diagnostics, server_reference, session_expiry_s: None }
                .encode(self.version, out);
        });
    }

    /// [`Connection::close`] for what the client did wrong, with the statement that it broke as reason string
    /// (MQTT-4.13.1-1, MQTT-4.13.2-1).
    pub fn reject(&mut self, violation: &Violation, out: &mut Vec<u8>) {
        let diagnostics = Diagnostics { reason_string: Some(violation.clause), ..Diagnostics::NONE };
        self.close(&Farewell { reason: violation.reason, diagnostics, server_reference: None }, out);
    }
}

fn or_unspecified(reason: ReasonCode, kind: PacketKind) -> ReasonCode {
    if reason.is_legal_in(kind) { reason } else { ReasonCode::UnspecifiedError }
}
