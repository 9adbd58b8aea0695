//! The load engine against a sink of a hundred lines that loses, repeats and reorders on purpose: the report must say
//! exactly what it did.

mod json_file;
mod sink;

use std::sync::atomic::Ordering;
use std::time::Duration;

use ferrymq_bench::load::{LoadError, Outcome, run_connect_burst, run_traffic};
use ferrymq_bench::meter::Meter;
use ferrymq_bench::scenario::{Overrides, Plan, named};

use sink::{Mischief, RunningSink};

fn plan(name: &str, overrides: Overrides) -> Plan {
    let short = Some(Duration::from_millis(200));
    let overrides = Overrides { warmup: Some(Duration::from_millis(50)), duration: short, ..overrides };
    named(name).expect("a scenario").plan(&overrides).expect("a plan")
}

fn clean_run(name: &str, overrides: Overrides) -> Outcome {
    let outcome = RunningSink::start(Mischief::default()).run(&plan(name, overrides)).expect("figures");
    let totals = outcome.totals;
    assert_eq!((totals.received, totals.lost), (outcome.expected, 0), "{name}");
    assert_eq!((totals.duplicated, totals.reordered, outcome.foreign), (0, 0, 0), "{name}");
    assert!(outcome.measured_received > 0, "{name}");
    outcome
}

#[test]
fn every_shape_and_quality_of_service_arrives_whole() {
    for name in ["pair-q0", "pair-q1", "pair-q2", "fan-in-q0", "fan-in-q1", "fan-out-q0", "fan-out-q1"] {
        clean_run(name, Overrides { clients: Some(8), ..Overrides::default() });
    }
}

#[test]
fn a_rated_run_sends_what_was_due_and_no_more() {
    let outcome = clean_run("latency-q1", Overrides { rate: Some(2_000.0), ..Overrides::default() });
    // 250 ms at 2,000 a second, the first at once.
    assert!((495..=500).contains(&outcome.sent), "{}", outcome.sent);
    assert!(outcome.latency.is_some_and(|latency| latency.p50 > 0));
}

#[test]
fn a_broadcast_is_timed_to_its_last_copy() {
    let overrides = Overrides { clients: Some(20), rate: Some(4_000.0), ..Overrides::default() };
    let outcome = clean_run("BROADCAST", overrides);
    let (last, each) = (outcome.complete.expect("broadcasts"), outcome.latency.expect("copies"));
    assert!(last.max >= each.p50);
    assert_eq!(outcome.expected, outcome.sent * 20);
}

#[test]
fn what_the_server_loses_is_counted_exactly_and_does_not_stop_a_closed_loop() {
    let sink = RunningSink::start(Mischief { lose: Some(10), ..Mischief::default() });
    let outcome =
        sink.run(&plan("pair-q0", Overrides { clients: Some(1), ..Overrides::default() })).expect("figures");
    assert_eq!(outcome.totals.lost, sink.counts.lost.load(Ordering::Relaxed));
    assert!(outcome.totals.lost > 0 && outcome.totals.duplicated == 0);
}

#[test]
fn what_the_server_repeats_or_reorders_is_counted_exactly() {
    let sink = RunningSink::start(Mischief { repeat: Some(7), swap: Some(5), ..Mischief::default() });
    let outcome =
        sink.run(&plan("pair-q1", Overrides { clients: Some(1), ..Overrides::default() })).expect("figures");
    assert_eq!(
        outcome.totals.duplicated,
        sink.counts.repeated.load(Ordering::Relaxed) - held_and_repeated(&sink, &outcome)
    );
    assert_eq!(outcome.totals.reordered, sink.counts.swapped.load(Ordering::Relaxed));
    assert!(outcome.totals.reordered > 0 && outcome.totals.duplicated > 0);
}

/// The last message may be held back for ever, and with it its repetition.
fn held_and_repeated(sink: &RunningSink, outcome: &Outcome) -> u64 {
    let last_is_held = outcome.sent.is_multiple_of(5);
    assert_eq!(
        outcome.totals.lost,
        u64::from(last_is_held),
        "swapped {}",
        sink.counts.swapped.load(Ordering::Relaxed)
    );
    u64::from(last_is_held && outcome.sent.is_multiple_of(7))
}

#[test]
fn a_connection_closed_by_the_server_ends_the_run_with_its_name() {
    let sink = RunningSink::start(Mischief { close_at: Some(100), ..Mischief::default() });
    let error = sink
        .run(&plan("pair-q1", Overrides { clients: Some(1), ..Overrides::default() }))
        .expect_err("closed");
    assert!(error.to_string().starts_with("publisher 0 was closed while running"), "{error}");
}

#[test]
fn a_port_where_nobody_listens_ends_the_run() {
    let sink = RunningSink::start(Mischief::default());
    let destination = sink.destination();
    drop(sink);
    let error =
        run_traffic(&plan("pair-q0", Overrides::default()), destination, Meter { server: None }, &mut |_| {});
    assert!(matches!(error, Err(LoadError::Closed { .. })));
}

#[test]
fn a_burst_connects_again_and_again_and_idle_connections_stay() {
    let sink = RunningSink::start(Mischief::default());
    let overrides = Overrides { clients: Some(5), ..Overrides::default() };
    let meter = Meter { server: None };
    let burst = run_connect_burst(&plan("CONNBURST", overrides), sink.destination(), meter, &mut |_| {})
        .expect("figures");
    assert!(burst.connects > 5 && burst.connect_latency.is_some());
    let scale = sink
        .run(&plan("CONNSCALE", Overrides { clients: Some(150), ..Overrides::default() }))
        .expect("figures");
    assert_eq!((scale.connects, scale.expected), (150, 0));
}
