//! The binary `ferrymq`: configuration and wiring.
fn main() {}
