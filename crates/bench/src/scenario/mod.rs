//! The scenarios by name, and how the command line's options turn one into a [`Plan`].

mod catalogue;

use std::time::Duration;

pub use catalogue::SCENARIOS;

use crate::stamp::STAMP_SIZE;

/// The largest payload a scenario may be given: MQTT's largest packet less its headers.
pub const LARGEST_PAYLOAD: usize = 268_000_000;

/// A scenario as it stands in the table.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// What `run` and `compare` call it.
    pub name: &'static str,
    /// One line for `list`.
    pub about: &'static str,
    /// The figure published for it, where there is one.
    pub published: Option<&'static str>,
    shape: Shape,
    /// Connections of the side that `--clients` scales.
    clients: u32,
    qos: u8,
    size: usize,
    persistent: bool,
    /// Messages in flight by default: of the whole test at QoS 0, of one publisher above.
    window: u32,
    /// Messages a second the whole test offers at QoS 0, 1 and 2; `None` = closed loop.
    rate: Option<[f64; 3]>,
}

/// Who sends to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Publisher i to subscriber i.
    Pairs,
    /// Many publishers over a few topics, one subscriber a topic.
    Topics(u32),
    /// Many publishers, a topic each; few subscribers on filters that do not overlap.
    Partitions(u32),
    /// One publisher, every subscriber on its topic; rates count deliveries.
    Everyone,
    /// Connect, disconnect, again: nothing is published.
    ConnectBurst,
    /// Connections that stay idle.
    ConnectScale,
}

/// What the command line may change of a scenario. `None` leaves the scenario's own value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overrides {
    /// Connections of the scaled side.
    pub clients: Option<u32>,
    /// Offered messages a second: makes a closed loop an open one.
    pub rate: Option<f64>,
    /// Payload bytes.
    pub size: Option<usize>,
    /// Quality of service.
    pub qos: Option<u8>,
    /// Messages in flight.
    pub window: Option<u32>,
    /// Measured time.
    pub duration: Option<Duration>,
    /// Time before the measured time.
    pub warmup: Option<Duration>,
}

/// What is going to be run, every value settled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The scenario's name.
    pub name: &'static str,
    /// Who sends to whom.
    pub shape: Shape,
    /// Publishing connections = streams.
    pub publishers: u32,
    /// Subscribing connections.
    pub subscribers: u32,
    /// Connections of the scaled side, as `clients` in the report.
    pub clients: u32,
    /// Quality of service of publishers and subscriptions, 0..=2.
    pub qos: u8,
    /// Whether the subscribers' sessions are persistent (clean session off).
    pub persistent: bool,
    /// Payload bytes, at least [`STAMP_SIZE`].
    pub size: usize,
    /// When a publisher may send.
    pub load: Load,
    /// Cut off before the measured time.
    pub warmup: Duration,
    /// Measured time.
    pub duration: Duration,
}

/// When a publisher may send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// As soon as fewer than this many of one publisher's messages are in flight: at QoS 0 not yet delivered, above
    /// not yet acknowledged.
    Closed {
        /// Messages of one publisher in flight, at least 1.
        window: u32,
    },
    /// Message n of the test is due at n / rate, whatever the server does.
    Rated {
        /// Messages published a second by all publishers together.
        per_second: f64,
    },
}

/// The scenario of that name, letters' case ignored.
pub fn named(name: &str) -> Option<&'static Scenario> {
    SCENARIOS.iter().find(|s| s.name.eq_ignore_ascii_case(name))
}

impl Scenario {
    /// Settles every value.
    ///
    /// # Errors
    /// Names the option that cannot be.
    pub fn plan(&self, overrides: &Overrides) -> Result<Plan, String> {
        let clients = overrides.clients.unwrap_or(self.clients);
        let qos = overrides.qos.unwrap_or(self.qos);
        let size = overrides.size.unwrap_or(self.size);
        check(clients >= 1, "--clients must be at least 1")?;
        check(qos <= 2, "--qos must be 0, 1 or 2")?;
        check(
            (STAMP_SIZE..=LARGEST_PAYLOAD).contains(&size),
            "--size must be 24 (the stamp) to 268000000 bytes",
        )?;
        let (publishers, subscribers) = self.shape.sides(clients);
        Ok(Plan {
            name: self.name,
            shape: self.shape,
            publishers,
            subscribers,
            clients,
            qos,
            persistent: self.persistent && qos > 0,
            size,
            load: self.load(overrides, qos, publishers, subscribers)?,
            warmup: overrides.warmup.unwrap_or(Duration::from_secs(2)),
            duration: overrides.duration.unwrap_or(Duration::from_secs(10)),
        })
    }

    fn load(
        &self,
        overrides: &Overrides,
        qos: u8,
        publishers: u32,
        subscribers: u32,
    ) -> Result<Load, String> {
        if publishers == 0 {
            return Ok(Load::Closed { window: 1 });
        }
        if let Some(rate) = overrides.rate.or(self.rate.map(|by_qos| by_qos[usize::from(qos)])) {
            check(rate.is_finite() && rate > 0.0, "--rate must be above 0")?;
            // A fan-out's rate counts deliveries.
            let copies = if self.shape == Shape::Everyone { f64::from(subscribers) } else { 1.0 };
            return Ok(Load::Rated { per_second: rate / copies });
        }
        let window = overrides.window.unwrap_or(self.default_window(qos));
        check(window >= 1 && (qos == 0 || window <= 60_000), "--window must be 1 to 60000")?;
        // The window of QoS 0 is the whole test's, shared evenly; above, a publisher's own.
        Ok(Load::Closed { window: if qos == 0 { window.div_ceil(publishers) } else { window } })
    }

    fn default_window(&self, qos: u8) -> u32 {
        match (self.qos, qos) {
            (0, 1..) => 50,
            (1.., 0) => self.window * self.clients,
            _ => self.window,
        }
    }
}

impl Shape {
    /// Publishers and subscribers when the scaled side has `clients`.
    fn sides(self, clients: u32) -> (u32, u32) {
        match self {
            Self::Pairs => (clients, clients),
            Self::Topics(few) | Self::Partitions(few) => (clients, few),
            Self::Everyone => (1, clients),
            Self::ConnectBurst | Self::ConnectScale => (0, 0),
        }
    }

    /// Subscribers each message goes to.
    pub fn copies(self, subscribers: u32) -> u32 {
        if self == Self::Everyone { subscribers } else { 1 }
    }

    /// How many topics `publishers` streams have between them: stream n's is topic n modulo this.
    pub fn topics(self, publishers: u32) -> u32 {
        match self {
            Self::Topics(few) => few.min(publishers),
            Self::Everyone => publishers.min(1),
            _ => publishers,
        }
    }

    /// The topic stream `stream` is published to.
    pub fn topic(self, stream: u32) -> String {
        match self {
            Self::Pairs => format!("bench/pair/{stream}"),
            Self::Topics(few) => format!("bench/in/{}", stream % few),
            Self::Partitions(few) => format!("/p{}/{stream}", stream % few),
            _ => "bench/all".to_owned(),
        }
    }

    /// The filter subscriber `subscriber` subscribes to.
    pub fn filter(self, subscriber: u32) -> String {
        match self {
            Self::Partitions(_) => format!("/p{subscriber}/#"),
            _ => self.topic(subscriber),
        }
    }
}

fn check(holds: bool, else_say: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(else_say.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(name: &str, overrides: Overrides) -> Plan {
        named(name).expect("a known scenario").plan(&overrides).expect("a plan")
    }

    #[test]
    fn every_scenario_of_the_contract_is_there_once_and_plans() {
        let contract = "pair-q0 pair-q1 pair-q2 fan-in-q0 fan-in-q1 fan-out-q0 fan-out-q1 pair-q1-persistent latency-q1 \
            xr-fan-in-5 FANIN.Q0.PARTITIONS FANIN.Q1.PERSISTENT.PARTITIONS BROADCAST CONNBURST CONNSCALE";
        let names: Vec<_> = contract.split(' ').filter(|n| !n.is_empty()).collect();
        assert_eq!(names.len(), SCENARIOS.len());
        for name in names {
            assert_eq!(SCENARIOS.iter().filter(|s| s.name == name).count(), 1, "{name}");
            plan(name, Overrides::default());
        }
        assert!(named("connscale").is_some() && named("nothing").is_none());
    }

    #[test]
    fn the_window_of_qos_0_is_shared_and_that_of_qos_1_is_each_publishers() {
        let window = |name| plan(name, Overrides::default()).load;
        assert_eq!(window("pair-q0"), Load::Closed { window: 200 });
        assert_eq!(window("fan-in-q0"), Load::Closed { window: 50 });
        assert_eq!(window("fan-out-q0"), Load::Closed { window: 50 });
        assert_eq!(window("pair-q1"), Load::Closed { window: 50 });
    }

    #[test]
    fn clients_keep_the_total_rate_and_qos_chooses_the_published_one() {
        let few = plan("xr-fan-in-5", Overrides { clients: Some(100), ..Overrides::default() });
        assert_eq!((few.publishers, few.subscribers), (100, 5));
        assert_eq!(few.load, Load::Rated { per_second: 91_409.0 });
        let q0 = plan("xr-fan-in-5", Overrides { qos: Some(0), ..Overrides::default() });
        assert_eq!(q0.load, Load::Rated { per_second: 109_946.0 });
        assert!(few.persistent && !q0.persistent);
    }

    #[test]
    fn the_rate_of_a_fan_out_counts_deliveries() {
        let overrides = Overrides { clients: Some(200), rate: Some(1_000.0), ..Overrides::default() };
        assert_eq!(plan("BROADCAST", overrides).load, Load::Rated { per_second: 5.0 });
    }

    #[test]
    fn impossible_options_are_refused_by_name() {
        let scenario = named("pair-q0").expect("a scenario");
        let refused = |overrides: Overrides, word: &str| {
            assert!(scenario.plan(&overrides).expect_err("refused").contains(word));
        };
        refused(Overrides { size: Some(23), ..Overrides::default() }, "--size");
        refused(Overrides { qos: Some(3), ..Overrides::default() }, "--qos");
        refused(Overrides { clients: Some(0), ..Overrides::default() }, "--clients");
        refused(Overrides { rate: Some(0.0), ..Overrides::default() }, "--rate");
        refused(Overrides { window: Some(0), ..Overrides::default() }, "--window");
    }

    #[test]
    fn each_streams_topic_matches_its_subscribers_filter() {
        assert_eq!(Shape::Pairs.topic(3), Shape::Pairs.filter(3));
        assert_eq!(Shape::Topics(5).topic(13), Shape::Topics(5).filter(3));
        assert_eq!(Shape::Partitions(10).topic(123), "/p3/123");
        assert_eq!(Shape::Partitions(10).filter(3), "/p3/#");
        assert_eq!(Shape::Everyone.topic(0), Shape::Everyone.filter(77));
    }
}
