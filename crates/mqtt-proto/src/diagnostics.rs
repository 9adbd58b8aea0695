//! Reason strings and user properties of answers (3.2.2.3.9, 3.4.2.2.2 and their like).

use alloc::vec::Vec;

use crate::property::{PropertyReader, PropertySet, set};
use crate::reader::Reader;
use crate::{DecodeError, Property, UserProperties};

/// What a packet may say about its reason code; for people and logs, not for programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics<'a> {
    /// 3.2.2.3.9.
    pub reason_string: Option<&'a str>,
    /// 3.2.2.3.10.
    pub user_properties: UserProperties<'a>,
}

impl<'a> Diagnostics<'a> {
    /// Nothing to say.
    pub const NONE: Diagnostics<'static> =
        Diagnostics { reason_string: None, user_properties: UserProperties::NONE };

    /// 3.4.2.2, 3.5.2.2, ...: the properties of acknowledgements.
    pub(crate) const LEGAL: PropertySet = set(&[0x1F, 0x26]);

    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Diagnostics<'a>, DecodeError> {
        let raw = reader.property_list()?;
        let mut diagnostics =
            Diagnostics { reason_string: None, user_properties: UserProperties::from_raw(raw) };
        for property in PropertyReader::new(raw, Diagnostics::LEGAL) {
            if let Property::ReasonString(text) = property? {
                diagnostics.reason_string = Some(text);
            }
        }
        Ok(diagnostics)
    }

    /// Whether there is nothing to send.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.reason_string.is_none() && self.user_properties.is_empty()
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        if let Some(text) = self.reason_string {
            Property::ReasonString(text).encode(out);
        }
        self.user_properties.encode(out);
    }
}
