//! Any of the fifteen packets, and how to get one from bytes.

use alloc::vec::Vec;

use crate::frame::{Frame, PacketKind};
use crate::{
    Ack, Auth, Connack, Connect, DecodeError, Disconnect, Publish, Suback, Subscribe, Unsubscribe, Version,
};

/// A packet, borrowed from the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Each has a type or module of its name.
pub enum Packet<'a> {
    Connect(Connect<'a>),
    Connack(Connack<'a>),
    Publish(Publish<'a>),
    Puback(Ack<'a>),
    Pubrec(Ack<'a>),
    Pubrel(Ack<'a>),
    Pubcomp(Ack<'a>),
    Subscribe(Subscribe<'a>),
    Suback(Suback<'a>),
    Unsubscribe(Unsubscribe<'a>),
    Unsuback(Suback<'a>),
    Pingreq,
    Pingresp,
    Disconnect(Disconnect<'a>),
    Auth(Auth<'a>),
}

/// The first packet in `input` and its length in bytes; `None` if it is not complete. A packet longer than
/// `max_packet` is refused before its body arrives. CONNECT says its own version, `version` is that of all others.
///
/// Checks everything that a packet shows by itself; order and roles are up to [`crate::server::Connection`] and
/// [`crate::client::Connection`].
#[inline]
pub fn decode(
    input: &[u8],
    version: Version,
    max_packet: u32,
) -> Result<Option<(Packet<'_>, usize)>, DecodeError> {
    match Frame::split(input, max_packet)? {
        Some(frame) => Ok(Some((Packet::decode(frame, version)?, frame.len))),
        None => Ok(None),
    }
}

impl<'a> Packet<'a> {
    pub(crate) fn decode(frame: Frame<'a>, version: Version) -> Result<Packet<'a>, DecodeError> {
        Ok(match frame.kind {
            PacketKind::Connect => Packet::Connect(Connect::decode(frame)?),
            PacketKind::Connack => Packet::Connack(Connack::decode(frame, version)?),
            PacketKind::Publish => Packet::Publish(Publish::decode(frame, version)?),
            PacketKind::Puback => Packet::Puback(Ack::decode(frame, version)?),
            PacketKind::Pubrec => Packet::Pubrec(Ack::decode(frame, version)?),
            PacketKind::Pubrel => Packet::Pubrel(Ack::decode(frame, version)?),
            PacketKind::Pubcomp => Packet::Pubcomp(Ack::decode(frame, version)?),
            PacketKind::Subscribe => Packet::Subscribe(Subscribe::decode(frame, version)?),
            PacketKind::Suback => Packet::Suback(Suback::decode(frame, version)?),
            PacketKind::Unsubscribe => Packet::Unsubscribe(Unsubscribe::decode(frame, version)?),
            PacketKind::Unsuback => Packet::Unsuback(Suback::decode(frame, version)?),
            PacketKind::Pingreq => decode_ping(frame, version).map(|()| Packet::Pingreq)?,
            PacketKind::Pingresp => decode_ping(frame, version).map(|()| Packet::Pingresp)?,
            PacketKind::Disconnect => Packet::Disconnect(Disconnect::decode(frame, version)?),
            PacketKind::Auth => Packet::Auth(Auth::decode(frame, version)?),
        })
    }

    /// Which of the fifteen it is.
    pub const fn kind(&self) -> PacketKind {
        match self {
            Packet::Connect(_) => PacketKind::Connect,
            Packet::Connack(_) => PacketKind::Connack,
            Packet::Publish(_) => PacketKind::Publish,
            Packet::Puback(_) => PacketKind::Puback,
            Packet::Pubrec(_) => PacketKind::Pubrec,
            Packet::Pubrel(_) => PacketKind::Pubrel,
            Packet::Pubcomp(_) => PacketKind::Pubcomp,
            Packet::Subscribe(_) => PacketKind::Subscribe,
            Packet::Suback(_) => PacketKind::Suback,
            Packet::Unsubscribe(_) => PacketKind::Unsubscribe,
            Packet::Unsuback(_) => PacketKind::Unsuback,
            Packet::Pingreq => PacketKind::Pingreq,
            Packet::Pingresp => PacketKind::Pingresp,
            Packet::Disconnect(_) => PacketKind::Disconnect,
            Packet::Auth(_) => PacketKind::Auth,
        }
    }

    /// Appends the packet for a peer of this version; CONNECT says its own.
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) {
        match self {
            Packet::Connect(connect) => connect.encode(out),
            Packet::Connack(connack) => connack.encode(version, out),
            Packet::Publish(publish) => publish.encode(version, out),
            Packet::Puback(ack) | Packet::Pubrec(ack) | Packet::Pubrel(ack) | Packet::Pubcomp(ack) => {
                ack.encode(self.kind(), version, out);
            }
            Packet::Subscribe(subscribe) => subscribe.encode(version, out),
            Packet::Unsubscribe(unsubscribe) => unsubscribe.encode(version, out),
            Packet::Suback(suback) | Packet::Unsuback(suback) => suback.encode(self.kind(), version, out),
            Packet::Pingreq | Packet::Pingresp => out.extend_from_slice(&[self.kind().first_byte(), 0]),
            Packet::Disconnect(disconnect) => disconnect.encode(version, out),
            Packet::Auth(auth) => auth.encode(out),
        }
    }
}

/// PINGREQ and PINGRESP have neither variable header nor payload (3.12, 3.13).
pub(crate) fn decode_ping(frame: Frame<'_>, version: Version) -> Result<(), DecodeError> {
    frame.check_flags(version)?;
    if frame.body.is_empty() { Ok(()) } else { Err(DecodeError::malformed("MQTT-4.13.1-1")) }
}
