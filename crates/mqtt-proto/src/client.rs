//! The client's end of a connection, for the load harness, bridges and tests.

mod connection;
mod requests;
mod template;

pub use connection::{Connection, Event, State};
pub use template::PublishTemplate;
