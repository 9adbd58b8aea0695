//! Reports for people: aligned columns on standard output.

use std::fmt::Write;

use crate::comparison::{Comparison, FIGURES, Spread};
use crate::latency::Percentiles;
use crate::report::Report;
use crate::scenario::SCENARIOS;

/// The table of `list`.
pub fn scenarios() -> String {
    let width = SCENARIOS.iter().map(|s| s.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for scenario in SCENARIOS {
        let _ = writeln!(text, "{:width$}  {}", scenario.name, scenario.about);
        if let Some(published) = scenario.published {
            let _ = writeln!(text, "{:width$}    published: {published}", "");
        }
    }
    text
}

/// The table of `run`.
pub fn report(report: &Report, published: Option<&str>) -> String {
    let mut rows = vec![
        (
            "server",
            format!("{} ({}), durability {}", report.server, report.server_version, report.durability),
        ),
        ("load", load(report)),
    ];
    if report.expected > 0 {
        rows.extend(traffic(report));
    }
    rows.extend(connections(report));
    rows.push((
        "server memory",
        report.server_rss_bytes.map_or_else(unknown, |b| format!("{:.1} MiB", b as f64 / 1_048_576.0)),
    ));
    rows.extend(report.harness_limit.clone().map(|limit| ("warning", limit)));
    rows.extend(published.map(|figure| ("published", figure.to_owned())));
    rows.iter().fold(format!("{}\n", report.scenario), |text, (name, value)| {
        text + &format!("  {name:16} {value}\n")
    })
}

fn load(report: &Report) -> String {
    let sessions = if report.persistent_sessions { "persistent" } else { "clean" };
    format!(
        "{} publishers, {} subscribers, QoS {}, {} B, {sessions} sessions, {}; measured {:.1} s",
        report.publishers, report.subscribers, report.qos, report.size, report.load, report.duration_s
    )
}

fn traffic(report: &Report) -> Vec<(&'static str, String)> {
    let cpu = |us: Option<f64>| us.map_or_else(unknown, |us| format!("{us:.3} us/msg"));
    let busy =
        report.server_cpus_busy.map_or_else(unknown, |busy| format!("{:.0}% of a processor", busy * 100.0));
    let mut rows = vec![
        (
            "rate",
            format!(
                "{} msg/s delivered, {} msg/s published",
                grouped(report.rate_msgs_per_s),
                grouped(report.published_msgs_per_s)
            ),
        ),
        (
            "messages",
            format!(
                "sent {}, expected {}, received {}; lost {}, duplicated {}, reordered {}",
                report.sent,
                report.expected,
                report.received,
                report.lost,
                report.duplicated,
                report.reordered
            ),
        ),
        ("latency", report.latency_us.as_ref().map_or_else(unknown, percentiles)),
        ("server CPU", format!("{} ({busy})", cpu(report.server_cpu_us_per_msg))),
        ("client CPU", cpu(report.client_cpu_us_per_msg)),
    ];
    rows.extend(report.last_copy_us.as_ref().map(|p| ("last copy", percentiles(p))));
    rows.extend(remarks(report).map(|remarks| ("remarks", remarks)));
    rows
}

/// What keeps a row from being a clean one.
fn remarks(report: &Report) -> Option<String> {
    let count = |count: u64, what: &str| (count > 0).then(|| format!("{count} {what}"));
    let remarks: Vec<String> = [
        count(report.unsent, "messages due were not taken in time"),
        count(report.stalls, "times the loop stood still for dropped messages"),
        count(report.foreign, "foreign or misdirected payloads"),
        report.backlogged.then(|| {
            format!("backlog of {:.1} s when sending ended: figures of the whole test", report.drain_s)
        }),
        report.drain_timed_out.then(|| "copies still came when waiting ended".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!remarks.is_empty()).then(|| remarks.join("; "))
}

fn connections(report: &Report) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    let per_s = report.connects_per_s.map_or_else(unknown, |rate| format!("{} /s", grouped(rate)));
    let latency = report.connect_latency_us.as_ref().map_or_else(unknown, percentiles);
    rows.push(("connects", format!("{per_s}; {latency}")));
    if let Some(us) = report.server_cpu_us_per_connect {
        let client = report.client_cpu_us_per_connect.map_or_else(unknown, |us| format!("{us:.1}"));
        rows.push(("CPU a connect", format!("server {us:.1} us, client {client} us")));
    }
    rows.extend(
        report
            .bytes_per_connection
            .map(|bytes| ("idle connection", format!("{bytes:.0} bytes of the server's memory"))),
    );
    rows
}

fn percentiles(p: &Percentiles) -> String {
    format!("p50 {}  p95 {}  p99 {}  p99.9 {}  max {} us", p.p50, p.p95, p.p99, p.p999, p.max)
}

fn unknown() -> String {
    "unknown".to_owned()
}

/// The table of `compare`: a line a figure.
pub fn comparison(comparison: &Comparison) -> String {
    let rounds = comparison.rounds.len();
    let mut text = format!(
        "{}: ferrymq and {}, {} in turn\n  {:24}{:>40}{:>40}  ours/theirs\n",
        comparison.scenario,
        comparison.peer,
        if rounds == 1 { "one round".to_owned() } else { format!("{rounds} rounds") },
        "median (min - max)",
        "ferrymq",
        comparison.peer
    );
    for (name, _) in FIGURES {
        let side = |spreads: &std::collections::BTreeMap<&str, Spread>| spreads.get(name).map(spread);
        let (Some(ours), Some(theirs)) = (side(&comparison.medians.ferrymq), side(&comparison.medians.peer))
        else {
            continue;
        };
        let ratio = comparison
            .ratios
            .get(&format!("ratio_{name}"))
            .map_or_else(|| "-".to_owned(), |r| if *r < 0.1 { format!("{r:.4}") } else { format!("{r:.2}") });
        let _ = writeln!(text, "  {name:24}{ours:>40}{theirs:>40}  {ratio:>11}");
    }
    for round in &comparison.rounds {
        for side in [&round.ferrymq, &round.peer] {
            if let Some(limit) = &side.harness_limit {
                let _ = writeln!(text, "  warning: round {}, {}: {limit}", round.round, side.server);
            }
        }
    }
    text
}

fn spread(spread: &Spread) -> String {
    format!("{} ({} - {})", figure(spread.median), figure(spread.min), figure(spread.max))
}

fn figure(value: f64) -> String {
    if value.abs() < 100.0 { format!("{value:.3}") } else { grouped(value) }
}

/// Digits in groups of three.
fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.max(0.0));
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_groups_of_three() {
        assert_eq!([0.0, 999.4, 1_000.0, 1_234_567.0].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn every_scenario_is_listed_by_its_name() {
        let text = scenarios();
        SCENARIOS.iter().for_each(|s| assert!(text.contains(s.name)));
    }
}
