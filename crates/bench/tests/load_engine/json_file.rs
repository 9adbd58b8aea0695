//! The command as scripts call it, and the file it writes.

use std::fs;
use std::sync::atomic::Ordering;

use clap::Parser;
use ferrymq_bench::command_line::{Command, CommandLine};
use ferrymq_bench::session;
use serde_json::Value;

use crate::sink::{Mischief, RunningSink};

const CONTRACT: &str = "scenario clients rate_msgs_per_s sent received lost duplicated reordered latency_us \
    server_cpu_us_per_msg client_cpu_us_per_msg server_rss_bytes bytes_per_connection connects_per_s durability";

/// What `ferrymq-bench run <arguments>` leaves in its file; every field of the contract is there.
fn run(sink: &RunningSink, arguments: &str) -> Value {
    let name = arguments.replace(' ', "_");
    let file = std::env::temp_dir().join(format!("ferrymq-bench-{}-{name}.json", std::process::id()));
    let line = format!(
        "ferrymq-bench run {arguments} --target mqtt://{} --warmup 0.05 --duration 0.2 --quiet --json {}",
        sink.address,
        file.display()
    );
    let Command::Run { name, options, target: Some(target), server_pid, .. } =
        CommandLine::try_parse_from(line.split_ascii_whitespace()).expect("understood").command
    else {
        panic!("a run against a target")
    };
    session::run_target(&name, &options, target, server_pid).expect("a report");
    let json: Value = serde_json::from_str(&fs::read_to_string(&file).expect("the file")).expect("JSON");
    fs::remove_file(file).expect("removed");
    CONTRACT.split_ascii_whitespace().for_each(|f| assert!(json.get(f).is_some(), "{arguments}: {f}"));
    json
}

#[test]
fn the_file_of_a_run_has_every_figure_of_the_contract() {
    let sink = RunningSink::start(Mischief::default());
    for name in ["pair-q1", "fan-in-q0", "fan-out-q0", "xr-fan-in-5", "BROADCAST"] {
        let json = run(&sink, &format!("{name} --clients 10 --rate 1000"));
        let positive =
            |field: &str| assert!(json[field].as_f64().is_some_and(|n| n > 0.0), "{name}: {field}");
        "clients rate_msgs_per_s sent received server_cpu_us_per_msg client_cpu_us_per_msg server_rss_bytes"
            .split(' ')
            .for_each(positive);
        let percentile = |p: &&str| assert!(json["latency_us"][p].is_u64(), "{name}: {p}");
        ["p50", "p95", "p99", "p999", "max"].iter().for_each(percentile);
        assert_eq!((&json["scenario"], &json["lost"]), (&name.into(), &0.into()));
    }
}

#[test]
fn the_file_counts_what_a_server_drops_at_qos_0() {
    for arguments in ["pair-q0 --clients 1", "fan-in-q0 --clients 10", "fan-out-q0 --clients 1"] {
        let sink = RunningSink::start(Mischief { lose: Some(10), ..Mischief::default() });
        let json = run(&sink, arguments);
        let lost = sink.counts.lost.load(Ordering::Relaxed);
        assert_eq!(
            (json["lost"].as_u64(), json["duplicated"].as_u64()),
            (Some(lost), Some(0)),
            "{arguments}"
        );
        let count = |field: &str| json[field].as_u64().expect("a count");
        assert_eq!(count("received") + lost, count("sent"), "{arguments}");
        assert!(lost > 0, "{arguments}");
    }
}

#[test]
fn the_file_of_connections_has_their_figures() {
    let sink = RunningSink::start(Mischief::default());
    let burst = run(&sink, "CONNBURST --clients 5");
    assert!(burst["connects_per_s"].as_f64().is_some_and(|rate| rate > 0.0));
    assert!(burst["server_cpu_us_per_connect"].as_f64().is_some_and(|us| us > 0.0));
    assert!(run(&sink, "CONNSCALE --clients 50")["bytes_per_connection"].is_f64());
}
