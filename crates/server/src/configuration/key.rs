//! A key of the configuration file as data, and the macro that makes a section of keys a type.

use std::ops::RangeInclusive;

/// A table of the file.
#[derive(Debug)]
pub struct Section {
    /// As it stands in brackets: `queue_manager.mqtt`; empty for the file itself.
    pub path: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// In the order of the file.
    pub keys: &'static [Key],
    /// The section with its defaults, to look them up by key.
    pub defaults: fn() -> toml::Table,
}

/// A key of a section.
#[derive(Debug)]
pub struct Key {
    /// As it stands in the file.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Of its value.
    pub unit: &'static str,
    /// The numbers allowed; `None` where the type says it all.
    pub range: Option<RangeInclusive<i64>>,
}

/// Defines a section: the struct that serde reads and writes, its defaults and its [`Section`]. After `with` come
/// the sections inside, which the reference treats as sections of their own.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $name:ident at $path:literal {
            $(
                $(#[doc = $doc:literal])+
                $key:ident: $type:ty = $default:expr, unit $unit:literal $(, range $range:expr)?;
            )+
        }
        $( with { $( $inner:ident: $inner_type:ty = $inner_default:expr; )+ } )?
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $key: $type, )+
            $( $( #[doc = "The section inside of that name."] pub $inner: $inner_type, )+ )?
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $( $key: $default, )+ $( $( $inner: $inner_default, )+ )? }
            }
        }

        impl $name {
            /// The section as data.
            pub const SECTION: $crate::configuration::Section = $crate::configuration::Section {
                path: $path,
                about: concat!($($about),+),
                keys: &[ $( $crate::configuration::Key {
                    name: stringify!($key),
                    about: concat!($($doc),+),
                    unit: $unit,
                    range: $crate::configuration::key::range!($($range)?),
                }, )+ ],
                defaults: || toml::Table::try_from($name::default()).unwrap_or_default(),
            };
        }
    };
}

/// `Some(range)`, or `None` of nothing.
macro_rules! range {
    () => {
        None
    };
    ($range:expr) => {
        Some($range)
    };
}

pub(super) use {range, section};
