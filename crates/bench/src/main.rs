//! `ferrymq-bench`: the harness that reproduces the published workloads.
fn main() {}
