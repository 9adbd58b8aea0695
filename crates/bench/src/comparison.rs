//! Two servers, the same scenario, turn about: ours, the peer, ours, the peer … and the medians of both.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::report::Report;

/// One round: the same scenario on both sides, one after the other.
#[derive(Clone, Debug, Serialize)]
pub struct Round {
    /// From 1.
    pub round: u32,
    /// Side A.
    pub ferrymq: Report,
    /// Side B.
    pub peer: Report,
}

/// All rounds and what they come to.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The scenario's name.
    pub scenario: String,
    /// The peer's name.
    pub peer: String,
    /// In the order they ran.
    pub rounds: Vec<Round>,
    /// Medians by figure; a figure a scenario does not measure is not there.
    pub medians: Medians,
    /// Median of ours divided by median of the peer's, by `ratio_` + figure.
    #[serde(flatten)]
    pub ratios: BTreeMap<String, f64>,
}

/// Medians of both sides.
#[derive(Clone, Debug, Serialize)]
pub struct Medians {
    /// Ours.
    pub ferrymq: BTreeMap<&'static str, Spread>,
    /// The peer's.
    pub peer: BTreeMap<&'static str, Spread>,
}

/// The median of a figure over the rounds, and how far they lay apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The middle value; the mean of the two middle ones of an even number.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// Of at least one value.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (min, max, middle) = (*values.first()?, *values.last()?, values.len() / 2);
        let below = if values.len().is_multiple_of(2) { middle - 1 } else { middle };
        Some(Self { median: (values[below] + values[middle]) / 2.0, min, max })
    }
}

type Figure = (&'static str, fn(&Report) -> Option<f64>);

/// The figures that are compared: name, and how to read it from a report. A ratio is called `ratio_` + name.
pub const FIGURES: &[Figure] = &[
    ("rate", |r| (r.expected > 0).then_some(r.rate_msgs_per_s)),
    ("server_cpu", |r| r.server_cpu_us_per_msg),
    ("client_cpu", |r| r.client_cpu_us_per_msg.filter(|_| r.expected > 0)),
    ("latency_p50", |r| Some(r.latency_us?.p50 as f64)),
    ("latency_p99", |r| Some(r.latency_us?.p99 as f64)),
    ("last_copy_p50", |r| Some(r.last_copy_us?.p50 as f64)),
    ("last_copy_p99", |r| Some(r.last_copy_us?.p99 as f64)),
    ("server_rss", |r| Some(r.server_rss_bytes? as f64)),
    ("bytes_per_connection", |r| r.bytes_per_connection),
    ("connects", |r| r.connects_per_s.filter(|_| r.expected == 0)),
    ("connect_latency_p99", |r| Some(r.connect_latency_us?.p99 as f64).filter(|_| r.expected == 0)),
    ("server_cpu_per_connect", |r| r.server_cpu_us_per_connect),
    ("lost", |r| (r.expected > 0).then_some(r.lost as f64)),
];

impl Comparison {
    /// What the rounds come to.
    pub fn new(scenario: &str, peer: &str, rounds: Vec<Round>) -> Self {
        let ferrymq = medians(rounds.iter().map(|r| &r.ferrymq));
        let other = medians(rounds.iter().map(|r| &r.peer));
        let ratios = ratios(&ferrymq, &other);
        let medians = Medians { ferrymq, peer: other };
        Self { scenario: scenario.to_owned(), peer: peer.to_owned(), rounds, medians, ratios }
    }
}

fn medians<'a>(reports: impl Iterator<Item = &'a Report> + Clone) -> BTreeMap<&'static str, Spread> {
    let spread =
        |(name, read): &Figure| Some((*name, Spread::of(reports.clone().filter_map(read).collect())?));
    FIGURES.iter().filter_map(spread).collect()
}

fn ratios(
    ours: &BTreeMap<&'static str, Spread>,
    theirs: &BTreeMap<&'static str, Spread>,
) -> BTreeMap<String, f64> {
    let ratio = |(name, our): (&&'static str, &Spread)| {
        let their = theirs.get(name)?.median;
        (their != 0.0).then(|| (format!("ratio_{name}"), our.median / their))
    };
    ours.iter().filter_map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Outcome;
    use crate::report::Subject;
    use crate::scenario::{Overrides, named};

    fn report(rate: f64, cpu: f64) -> Report {
        let plan = named("pair-q1").expect("known").plan(&Overrides::default()).expect("a plan");
        let subject = Subject { name: "x".into(), version: "1".into(), durability: "memory".into() };
        let mut report = Report::new(&plan, &subject, &Outcome { expected: 1, ..Outcome::default() });
        (report.rate_msgs_per_s, report.server_cpu_us_per_msg) = (rate, Some(cpu));
        report
    }

    #[test]
    fn the_median_lies_between_the_middle_values() {
        assert_eq!(Spread::of(vec![3.0, 1.0, 2.0]), Some(Spread { median: 2.0, min: 1.0, max: 3.0 }));
        assert_eq!(Spread::of(vec![4.0, 1.0]).map(|s| s.median), Some(2.5));
        assert_eq!(Spread::of(vec![]), None);
    }

    #[test]
    fn a_ratio_is_our_median_by_theirs_and_a_figure_nobody_has_is_not_there() {
        let round =
            |round, ours, theirs| Round { round, ferrymq: report(ours, 1.0), peer: report(theirs, 4.0) };
        let rounds = vec![round(1, 300.0, 100.0), round(2, 500.0, 90.0), round(3, 400.0, 200.0)];
        let json = serde_json::to_value(Comparison::new("pair-q1", "nats", rounds)).expect("JSON");
        assert_eq!((&json["ratio_rate"], &json["ratio_server_cpu"]), (&4.0.into(), &0.25.into()));
        assert_eq!(json["medians"]["peer"]["rate"]["min"], 90.0);
        assert_eq!((json.get("ratio_bytes_per_connection"), json.get("ratio_lost")), (None, None));
        assert_eq!((json["rounds"].as_array().map(Vec::len), &json["peer"]), (Some(3), &"nats".into()));
    }
}
