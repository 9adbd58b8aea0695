//! AUTH (3.15): a step of an extended authentication, in MQTT 5.0 only.

use alloc::vec::Vec;

use crate::frame::{Frame, PacketKind};
use crate::property::{PropertyReader, PropertySet, set};
use crate::reader::Reader;
use crate::{DecodeError, Diagnostics, Property, ReasonCode, UserProperties, Version, writer};

/// A step of an extended authentication (4.12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Auth<'a> {
    /// Success, continue, or (from a client) re-authenticate.
    pub reason: ReasonCode,
    /// As in CONNECT (MQTT-4.12.0-5); only a packet of length 0 lacks it, and that is a protocol error (3.15.2.2.2).
    pub method: Option<&'a str>,
    /// What the method says.
    pub data: Option<&'a [u8]>,
    /// For people.
    pub diagnostics: Diagnostics<'a>,
}

const LEGAL: PropertySet = set(&[0x15, 0x16, 0x1F, 0x26]);

impl<'a> Auth<'a> {
    pub(crate) fn decode(frame: Frame<'a>, version: Version) -> Result<Auth<'a>, DecodeError> {
        if !version.is_5() {
            return Err(DecodeError::malformed("MQTT-3.1.1 2.2.1"));
        }
        frame.check_flags(version)?;
        let mut reader = Reader::new(frame.body);
        let mut auth = Auth::default();
        if !reader.is_empty() {
            auth.reason = reader.reason(PacketKind::Auth)?;
            if !reader.is_empty() {
                auth.decode_properties(reader.property_list()?)?;
            }
        }
        reader.finish()?;
        match auth.method {
            None => Err(DecodeError::protocol("MQTT-5 3.15.2.2.2")),
            Some(_) => Ok(auth),
        }
    }

    fn decode_properties(&mut self, raw: &'a [u8]) -> Result<(), DecodeError> {
        self.diagnostics.user_properties = UserProperties::from_raw(raw);
        for property in PropertyReader::new(raw, LEGAL) {
            match property? {
                Property::AuthenticationMethod(method) => self.method = Some(method),
                Property::AuthenticationData(data) => self.data = Some(data),
                Property::ReasonString(text) => self.diagnostics.reason_string = Some(text),
                _ => {}
            }
        }
        Ok(())
    }

    /// Appends the packet.
    pub fn encode(&self, out: &mut Vec<u8>) {
        writer::packet(out, PacketKind::Auth.first_byte(), |out| {
            out.push(self.reason as u8);
            writer::prefixed(out, |out| {
                if let Some(method) = self.method {
                    Property::AuthenticationMethod(method).encode(out);
                }
                if let Some(data) = self.data {
                    Property::AuthenticationData(data).encode(out);
                }
                self.diagnostics.encode(out);
            });
        });
    }
}
