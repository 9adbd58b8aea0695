//! DISCONNECT (3.14): the last packet of a client, or of a 5.0 server.

use alloc::vec::Vec;

use crate::frame::{Frame, PacketKind};
use crate::property::{PropertyReader, PropertySet, set};
use crate::reader::Reader;
use crate::{DecodeError, Diagnostics, Property, ReasonCode, UserProperties, Version, writer};

/// The end of a connection, announced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disconnect<'a> {
    /// [`ReasonCode::Success`] is a normal end, and the only one in 3.x.
    pub reason: ReasonCode,
    /// Replaces the interval of CONNECT, in seconds; clients only (MQTT-3.14.2-2).
    pub session_expiry_s: Option<u32>,
    /// For people.
    pub diagnostics: Diagnostics<'a>,
    /// Another server; servers only.
    pub server_reference: Option<&'a str>,
}

const LEGAL: PropertySet = set(&[0x11, 0x1C, 0x1F, 0x26]);

impl<'a> Disconnect<'a> {
    /// A DISCONNECT that only has a reason.
    pub const fn new(reason: ReasonCode) -> Disconnect<'static> {
        Disconnect { reason, session_expiry_s: None, diagnostics: Diagnostics::NONE, server_reference: None }
    }

    pub(crate) fn decode(frame: Frame<'a>, version: Version) -> Result<Disconnect<'a>, DecodeError> {
        frame.check_flags(version)?;
        let mut reader = Reader::new(frame.body);
        let mut disconnect = Disconnect::default();
        // Left out, the reason is 0x00; without it there are no properties (3.14.2.1, 3.14.2.2.1).
        if version.is_5() && !reader.is_empty() {
            disconnect.reason = reader.reason(PacketKind::Disconnect)?;
            if !reader.is_empty() {
                disconnect.decode_properties(reader.property_list()?)?;
            }
        }
        reader.finish()?;
        Ok(disconnect)
    }

    fn decode_properties(&mut self, raw: &'a [u8]) -> Result<(), DecodeError> {
        self.diagnostics.user_properties = UserProperties::from_raw(raw);
        for property in PropertyReader::new(raw, LEGAL) {
            match property? {
                Property::SessionExpiryInterval(seconds) => self.session_expiry_s = Some(seconds),
                Property::ReasonString(text) => self.diagnostics.reason_string = Some(text),
                Property::ServerReference(text) => self.server_reference = Some(text),
                _ => {}
            }
        }
        Ok(())
    }

    /// Appends the packet; without reason and properties for 3.x, where only clients send it.
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) {
        let first = PacketKind::Disconnect.first_byte();
        let bare =
            self.session_expiry_s.is_none() && self.server_reference.is_none() && self.diagnostics.is_empty();
        if !version.is_5() || (bare && self.reason == ReasonCode::Success) {
            out.extend_from_slice(&[first, 0]);
        } else if bare {
            out.extend_from_slice(&[first, 1, self.reason as u8]);
        } else {
            writer::packet(out, first, |out| {
                out.push(self.reason as u8);
                writer::prefixed(out, |out| self.encode_properties(out));
            });
        }
    }

    fn encode_properties(&self, out: &mut Vec<u8>) {
        if let Some(seconds) = self.session_expiry_s {
            Property::SessionExpiryInterval(seconds).encode(out);
        }
        if let Some(text) = self.server_reference {
            Property::ServerReference(text).encode(out);
        }
        self.diagnostics.encode(out);
    }
}
