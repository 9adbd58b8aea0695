//! UNSUBSCRIBE (3.10): a client wants no more of some messages.

use alloc::vec::Vec;

use crate::frame::{Frame, PacketKind};
use crate::property::{PropertyReader, PropertySet, set};
use crate::reader::Reader;
use crate::{DecodeError, UserProperties, Version, writer};

/// A client ends subscriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsubscribe<'a> {
    /// Not 0 (MQTT-2.2.1-3).
    pub packet_id: u16,
    /// 3.10.2.1.2.
    pub user_properties: UserProperties<'a>,
    /// At least one (MQTT-3.10.3-2).
    pub filters: UnsubscribeFilters<'a>,
}

/// The filters of an UNSUBSCRIBE as they came.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UnsubscribeFilters<'a>(&'a [u8]);

const LEGAL: PropertySet = set(&[0x26]);

impl<'a> UnsubscribeFilters<'a> {
    /// Each of them, in order. There is an answer for each in the UNSUBACK.
    pub fn iter(self) -> impl Iterator<Item = &'a str> + Clone {
        let mut reader = Reader::new(self.0);
        core::iter::from_fn(move || if reader.is_empty() { None } else { reader.text().ok() })
    }
}

impl core::fmt::Debug for UnsubscribeFilters<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> Unsubscribe<'a> {
    pub(crate) fn decode(frame: Frame<'a>, version: Version) -> Result<Unsubscribe<'a>, DecodeError> {
        frame.check_flags(version)?;
        let mut reader = Reader::new(frame.body);
        let packet_id = reader.packet_id()?;
        let raw = if version.is_5() { reader.property_list()? } else { &[] };
        for property in PropertyReader::new(raw, LEGAL) {
            property?;
        }
        let filters = UnsubscribeFilters(reader.rest);
        if reader.is_empty() {
            return Err(DecodeError::protocol("MQTT-3.10.3-2"));
        }
        while !reader.is_empty() {
            if reader.text()?.is_empty() {
                return Err(DecodeError::protocol("MQTT-4.7.3-1"));
            }
        }
        Ok(Unsubscribe { packet_id, user_properties: UserProperties::from_raw(raw), filters })
    }

    /// Appends the packet again.
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) {
        encode_unsubscribe(self.packet_id, self.user_properties, self.filters.iter(), version, out);
    }
}

/// Appends an UNSUBSCRIBE. `packet_id` is not 0 and there is at least one filter.
pub fn encode_unsubscribe<'s>(
    packet_id: u16,
    user_properties: UserProperties<'_>,
    filters: impl IntoIterator<Item = &'s str>,
    version: Version,
    out: &mut Vec<u8>,
) {
    writer::packet(out, PacketKind::Unsubscribe.first_byte(), |out| {
        writer::u16(out, packet_id);
        if version.is_5() {
            writer::prefixed(out, |out| user_properties.encode(out));
        }
        filters.into_iter().for_each(|filter| writer::text(out, filter));
    });
}
