//! The server's end of a connection: order of packets, limits, aliases, keep alive, and the forms of answers.

mod answers;
mod connection;
mod handshake;
mod publishing;
mod settings;

pub use connection::{Connection, Event, State};
pub use handshake::{Accept, Farewell};
pub use settings::Settings;
