//! The report of one run: the JSON's fields, exactly.

use std::time::Duration;

use serde::Serialize;

use crate::latency::Percentiles;
use crate::load::Outcome;
use crate::scenario::{Load, Plan, Shape};

/// What one run found. Every field is always there; what a scenario does not measure is null.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The scenario's name.
    pub scenario: String,
    /// The server measured: `ferrymq`, a peer, or `target`.
    pub server: String,
    /// What the server says of its version.
    pub server_version: String,
    /// Connections of the side that `--clients` scales.
    pub clients: u32,
    /// Publishing connections.
    pub publishers: u32,
    /// Subscribing connections.
    pub subscribers: u32,
    /// Quality of service.
    pub qos: u8,
    /// Whether the subscribers' sessions were persistent.
    pub persistent_sessions: bool,
    /// Payload bytes.
    pub size: usize,
    /// `closed, window N a publisher` or `open, N msg/s`.
    pub load: String,
    /// Measured seconds, warm-up cut off.
    pub duration_s: f64,
    /// Messages delivered a second within the measured time, duplicates not counted.
    pub rate_msgs_per_s: f64,
    /// Messages published a second within the measured time.
    pub published_msgs_per_s: f64,
    /// Messages published from first to last, warm-up included.
    pub sent: u64,
    /// Copies that had to arrive for them.
    pub expected: u64,
    /// Copies that arrived, duplicates not counted. `expected = received + lost`.
    pub received: u64,
    /// Copies that did not arrive.
    pub lost: u64,
    /// Arrivals beyond the first.
    pub duplicated: u64,
    /// Arrivals after a later message of their stream.
    pub reordered: u64,
    /// Messages due in an open loop that the server did not take in time.
    pub unsent: u64,
    /// Times a closed loop at QoS 0 had to give up dropped messages to go on.
    pub stalls: u64,
    /// Payloads of nobody, or for another subscriber.
    pub foreign: u64,
    /// From intended sending to arrival, of messages meant for the measured time.
    pub latency_us: Option<Percentiles>,
    /// From intended sending to the arrival of the last copy (BROADCAST).
    pub last_copy_us: Option<Percentiles>,
    /// Processor time of the server (user + system) a message delivered, within the measured time.
    pub server_cpu_us_per_msg: Option<f64>,
    /// Processor time of the harness a message delivered.
    pub client_cpu_us_per_msg: Option<f64>,
    /// Processors the server kept busy, 1.0 = one.
    pub server_cpus_busy: Option<f64>,
    /// Processors the harness kept busy: it has one thread, so 1.0 is all it can have.
    pub client_cpus_busy: f64,
    /// Messages of the measured time that left over 10 ms late because the harness was late.
    pub late: u64,
    /// Why these are the harness's figures rather than the server's; null when they are not.
    pub harness_limit: Option<String>,
    /// Resident memory of the server at the end of the measured time.
    pub server_rss_bytes: Option<u64>,
    /// Growth of that memory a connection (CONNSCALE).
    pub bytes_per_connection: Option<f64>,
    /// Connections a second: CONNBURST's measured time, otherwise while connecting.
    pub connects_per_s: Option<f64>,
    /// From connect to CONNACK, or SUBACK where one subscribes.
    pub connect_latency_us: Option<Percentiles>,
    /// Processor time of the server a connect and disconnect (CONNBURST).
    pub server_cpu_us_per_connect: Option<f64>,
    /// Processor time of the harness a connect and disconnect (CONNBURST).
    pub client_cpu_us_per_connect: Option<f64>,
    /// How long after the last message sent the last copy arrived.
    pub drain_s: f64,
    /// Whether the server left a backlog, so that rates and costs are those of the whole test, from the first message
    /// sent to the last copy's arrival, instead of the measured time's.
    pub backlogged: bool,
    /// Whether copies still came when the harness stopped waiting: `lost` then counts late ones too.
    pub drain_timed_out: bool,
    /// What an acknowledgement above QoS 0 survives on this server.
    pub durability: String,
}

/// Name, version and promise of the server measured.
#[derive(Clone, Debug)]
pub struct Subject {
    /// `ferrymq`, a peer's name, or `target`.
    pub name: String,
    /// What it says of its version.
    pub version: String,
    /// What its acknowledgements survive.
    pub durability: String,
}

impl Report {
    /// The report of `outcome`.
    pub fn new(plan: &Plan, subject: &Subject, outcome: &Outcome) -> Self {
        let (server, client) = outcome.end.since(&outcome.start);
        let measured_s = outcome.measured.as_secs_f64().max(1e-9);
        let per = |time: Duration, count: u64| (count > 0).then(|| time.as_secs_f64() * 1e6 / count as f64);
        let client_cpus_busy = client.as_secs_f64() / measured_s;
        let connects = if plan.shape == Shape::ConnectBurst { outcome.connects } else { 0 };
        Self {
            scenario: plan.name.to_owned(),
            server: subject.name.clone(),
            server_version: subject.version.clone(),
            clients: plan.clients,
            publishers: plan.publishers,
            subscribers: plan.subscribers,
            qos: plan.qos,
            persistent_sessions: plan.persistent,
            size: plan.size,
            load: load_text(plan),
            duration_s: measured_s,
            rate_msgs_per_s: outcome.measured_received as f64 / measured_s,
            published_msgs_per_s: outcome.measured_sent as f64 / measured_s,
            sent: outcome.sent,
            expected: outcome.expected,
            received: outcome.totals.received,
            lost: outcome.totals.lost,
            duplicated: outcome.totals.duplicated,
            reordered: outcome.totals.reordered,
            unsent: outcome.unsent,
            stalls: outcome.stalls,
            foreign: outcome.foreign,
            latency_us: outcome.latency,
            last_copy_us: outcome.complete,
            server_cpu_us_per_msg: server.and_then(|time| per(time, outcome.measured_received)),
            client_cpu_us_per_msg: per(client, outcome.measured_received),
            server_cpus_busy: server.map(|time| time.as_secs_f64() / measured_s),
            client_cpus_busy,
            late: outcome.late,
            harness_limit: harness_limit(client_cpus_busy, outcome),
            server_rss_bytes: outcome.end.server_rss,
            bytes_per_connection: bytes_per_connection(plan, outcome),
            connects_per_s: Some(outcome.connects_per_s),
            connect_latency_us: outcome.connect_latency,
            server_cpu_us_per_connect: server.and_then(|time| per(time, connects)),
            client_cpu_us_per_connect: per(client, connects),
            drain_s: outcome.drain.as_secs_f64(),
            backlogged: outcome.backlogged,
            drain_timed_out: outcome.drain_timed_out,
            durability: subject.durability.clone(),
        }
    }
}

/// From this share of a processor on the harness has no time left.
const FULLY_BUSY: f64 = 0.95;
/// More than one message in this many late is too many.
const LATE_PART: u64 = 100;

/// Whether the harness kept the server waiting, and by what that shows.
fn harness_limit(busy: f64, outcome: &Outcome) -> Option<String> {
    let reasons = [
        (busy >= FULLY_BUSY).then(|| format!("it used {:.0}% of a processor", busy * 100.0)),
        (outcome.late * LATE_PART > outcome.measured_sent)
            .then(|| format!("{} messages left over 10 ms late", outcome.late)),
    ];
    let reasons: Vec<_> = reasons.into_iter().flatten().collect();
    (!reasons.is_empty()).then(|| format!("the harness was the limit: {}", reasons.join(", ")))
}

fn load_text(plan: &Plan) -> String {
    match (plan.publishers, plan.load) {
        (0, _) => "none".to_owned(),
        (_, Load::Closed { window }) => format!("closed, window {window} a publisher"),
        (_, Load::Rated { per_second }) => format!("open, {per_second:.0} msg/s published"),
    }
}

fn bytes_per_connection(plan: &Plan, outcome: &Outcome) -> Option<f64> {
    let (before, after) = outcome.before.server_rss.zip(outcome.end.server_rss)?;
    (plan.shape == Shape::ConnectScale).then(|| (after as f64 - before as f64) / f64::from(plan.clients))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Reading;
    use crate::scenario::{Overrides, named};
    use crate::sequence::Totals;

    fn report(name: &str, outcome: &Outcome) -> serde_json::Value {
        let plan = named(name).expect("known").plan(&Overrides::default()).expect("a plan");
        let subject = Subject { name: "ferrymq".into(), version: "1".into(), durability: "fsync".into() };
        serde_json::to_value(Report::new(&plan, &subject, outcome)).expect("JSON")
    }

    fn outcome() -> Outcome {
        let reading = |seconds, rss| Reading {
            server_cpu: Some(Duration::from_secs(seconds)),
            client_cpu: Duration::from_secs(seconds / 2),
            server_rss: Some(rss),
        };
        Outcome {
            measured: Duration::from_secs(10),
            measured_received: 1_000_000,
            totals: Totals { received: 1_500_000, lost: 3, duplicated: 2, reordered: 1 },
            latency: Some(Percentiles { p50: 1, p95: 2, p99: 3, p999: 4, max: 5, mean: 1.5 }),
            before: reading(0, 1_000_000),
            start: reading(2, 0),
            end: reading(6, 16_000_000),
            connects: 100_000,
            connects_per_s: 10_000.0,
            ..Outcome::default()
        }
    }

    #[test]
    fn every_field_of_the_contract_is_there_by_its_name() {
        let json = report("pair-q1", &outcome());
        let fields = "scenario clients rate_msgs_per_s sent received lost duplicated reordered latency_us \
            server_cpu_us_per_msg client_cpu_us_per_msg server_rss_bytes bytes_per_connection connects_per_s durability";
        fields.split_ascii_whitespace().for_each(|field| assert!(json.get(field).is_some(), "{field}"));
        ["p50", "p95", "p99", "p999", "max"]
            .iter()
            .for_each(|p| assert!(json["latency_us"][p].is_u64(), "{p}"));
    }

    #[test]
    fn cost_is_that_of_the_measured_time_by_messages_delivered_in_it() {
        let json = report("pair-q1", &outcome());
        assert_eq!(json["rate_msgs_per_s"], 100_000.0);
        assert_eq!(json["server_cpu_us_per_msg"], 4.0);
        assert_eq!(json["client_cpu_us_per_msg"], 2.0);
        assert_eq!((&json["lost"], &json["bytes_per_connection"]), (&3.into(), &serde_json::Value::Null));
    }

    #[test]
    fn a_harness_without_time_left_or_behind_its_schedule_says_so() {
        let limit = |outcome: &Outcome| report("latency-q1", outcome)["harness_limit"].clone();
        assert_eq!(limit(&outcome()), serde_json::Value::Null);
        let busy = Outcome { measured: Duration::from_millis(2_100), ..outcome() };
        assert_eq!(limit(&busy), "the harness was the limit: it used 95% of a processor");
        let behind = Outcome { measured_sent: 1_000, late: 11, ..outcome() };
        assert_eq!(limit(&behind), "the harness was the limit: 11 messages left over 10 ms late");
        assert!(limit(&Outcome { measured_sent: 1_100, ..behind }).is_null());
    }

    #[test]
    fn idle_connections_are_charged_with_the_growth_of_memory_and_bursts_with_time() {
        assert_eq!(report("CONNSCALE", &outcome())["bytes_per_connection"], 1_000.0);
        assert_eq!(report("CONNBURST", &outcome())["server_cpu_us_per_connect"], 40.0);
    }
}
