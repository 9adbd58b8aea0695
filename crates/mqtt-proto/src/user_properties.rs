//! User properties (3.3.2.3.7 and its like): pairs of text that mean something to applications alone.

use alloc::vec::Vec;

use crate::{Properties, Property};

/// The user properties among a packet's properties, in order (they may repeat, 3.3.2.3.7).
///
/// Two are equal if they hold the same names and values in the same order.
#[derive(Clone, Copy, Default)]
pub struct UserProperties<'a>(Properties<'a>);

impl<'a> UserProperties<'a> {
    /// None.
    pub const NONE: UserProperties<'static> = UserProperties(Properties::NONE);

    /// Those in a raw property list; others in it are passed over.
    #[inline]
    pub const fn from_raw(raw: &'a [u8]) -> UserProperties<'a> {
        UserProperties(Properties::from_raw(raw))
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.iter().next().is_none()
    }

    /// Name and value of each.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, &'a str)> + Clone {
        self.0.iter().filter_map(|property| match property {
            Property::UserProperty(name, value) => Some((name, value)),
            _ => None,
        })
    }

    pub(crate) fn encode(self, out: &mut Vec<u8>) {
        self.iter().for_each(|(name, value)| Property::UserProperty(name, value).encode(out));
    }
}

impl PartialEq for UserProperties<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for UserProperties<'_> {}

impl core::fmt::Debug for UserProperties<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
