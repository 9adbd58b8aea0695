//! Chores of the house: tidy checks, generated documents.
fn main() {}
