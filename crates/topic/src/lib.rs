//! Topic names, topic filters, and the two trees that match them. This crate does not know what a subscription or a
//! message is, and never sees a connection: the trees hold whatever value their owner puts there.
//!
//! [`TopicTree`] answers "which filters match this topic", [`RetainedTree`] "which topics does this filter match".
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod error;
mod level;
mod level_name;
#[cfg(test)]
mod naive;
mod node_arena;
mod retained_tree;
mod shared_filter;
mod topic_filter;
mod topic_name;
mod topic_tree;

pub use error::{TopicError, TopicLimits};
pub use retained_tree::RetainedTree;
pub use shared_filter::SharedFilter;
pub use topic_filter::TopicFilter;
pub use topic_name::TopicName;
pub use topic_tree::TopicTree;
