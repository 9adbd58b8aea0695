//! Every scenario by name, with the figure published for it.

use super::{Scenario, Shape};

const SMALL: usize = 128;

/// The row all others are varied from: 10 pairs, QoS 0, 128 B, clean sessions, window 2,000.
const PAIRS: Scenario = Scenario {
    name: "pair-q0",
    about: "10 publishers to 10 subscribers one to one, QoS 0",
    published: Some(
        "mosquitto 172k msg/s 5.7 us, NATS 1,021k 1.5 us, FlashMQ 1,393k 0.73 us (another day's run)",
    ),
    shape: Shape::Pairs,
    clients: 10,
    qos: 0,
    size: SMALL,
    persistent: false,
    window: 2_000,
    rate: None,
};

/// Every scenario, in the order of `list`.
pub const SCENARIOS: &[Scenario] = &[
    PAIRS,
    Scenario {
        name: "pair-q1",
        about: "10 to 10 one to one, QoS 1, clean sessions",
        published: Some("mosquitto 76k 13 us, NATS 59k, FlashMQ 481k 1.18 us"),
        qos: 1,
        window: 50,
        ..PAIRS
    },
    Scenario {
        name: "pair-q2",
        about: "10 to 10 one to one, QoS 2, clean sessions",
        published: Some("mosquitto 42k 24 us, NATS 9k, FlashMQ 193k 2.4 us"),
        qos: 2,
        window: 50,
        ..PAIRS
    },
    Scenario {
        name: "pair-q1-persistent",
        about: "10 to 10 one to one, QoS 1, persistent sessions",
        published: None,
        qos: 1,
        window: 50,
        persistent: true,
        ..PAIRS
    },
    Scenario {
        name: "fan-in-q0",
        about: "100 publishers to 1 subscriber, QoS 0",
        published: Some("mosquitto 182k 5.5 us, NATS 674k 2.4 us, FlashMQ 920k 1.28 us"),
        shape: Shape::Topics(1),
        clients: 100,
        // As many a publisher as at QoS 1.
        window: 5_000,
        ..PAIRS
    },
    Scenario {
        name: "fan-in-q1",
        about: "100 publishers to 1 subscriber, QoS 1",
        published: Some("mosquitto 89k 11 us, NATS 58k, FlashMQ 428k 1.96 us"),
        shape: Shape::Topics(1),
        clients: 100,
        qos: 1,
        window: 50,
        ..PAIRS
    },
    Scenario {
        name: "fan-out-q0",
        about: "1 publisher to 100 subscribers, QoS 0",
        published: Some("mosquitto 277k 3.5 us, NATS 1,234k 1.1 us"),
        shape: Shape::Everyone,
        clients: 100,
        window: 50,
        ..PAIRS
    },
    Scenario {
        name: "fan-out-q1",
        about: "1 publisher to 100 subscribers, QoS 1",
        published: Some("mosquitto 173k 5.9 us, NATS 142k, mosquitto 2.1 475k 2.1 us"),
        shape: Shape::Everyone,
        clients: 100,
        qos: 1,
        window: 50,
        ..PAIRS
    },
    Scenario {
        name: "latency-q1",
        about: "1,000 msg/s over 100 pairs, QoS 1, open loop by intended send time",
        published: Some("p99 mosquitto 1.2 ms, FlashMQ 45 ms, NATS 2.9 ms"),
        clients: 100,
        qos: 1,
        rate: Some([1_000.0; 3]),
        ..PAIRS
    },
    Scenario {
        name: "xr-fan-in-5",
        about: "many publishers over 5 topics to 5 consumers (persistent sessions above QoS 0), rated, 256 B",
        published: Some(
            "IBM MQXR 9.4.5, 64 threads, 100k clients: 109,946 / 91,409 / 30,000 msg/s at QoS 0 / 1 / 2",
        ),
        shape: Shape::Topics(5),
        clients: 15_000,
        qos: 1,
        size: 256,
        persistent: true,
        rate: Some([109_946.0, 91_409.0, 30_000.0]),
        ..PAIRS
    },
    Scenario {
        name: "FANIN.Q0.PARTITIONS",
        about: "1,000 publishers on a topic each to 10 consumers on /pN/#, QoS 0, 256 B",
        published: Some("MessageSight, 16 cores: > 500,000 msg/s"),
        shape: Shape::Partitions(10),
        clients: 1_000,
        size: 256,
        window: 10_000,
        ..PAIRS
    },
    Scenario {
        name: "FANIN.Q1.PERSISTENT.PARTITIONS",
        about: "the same with QoS 1 and persistent sessions",
        published: None,
        shape: Shape::Partitions(10),
        clients: 1_000,
        qos: 1,
        size: 256,
        window: 10,
        persistent: true,
        ..PAIRS
    },
    Scenario {
        name: "BROADCAST",
        about: "1 publisher to all of 15,000 subscribers, QoS 0, 256 B; time until the last has it",
        published: Some("MessageSight: 100,000 msg/s egress to 512K consumers"),
        shape: Shape::Everyone,
        clients: 15_000,
        size: 256,
        rate: Some([100_000.0; 3]),
        ..PAIRS
    },
    Scenario {
        name: "CONNBURST",
        about: "connect, CONNACK, disconnect, again, over 100 slots; connects/s and connect latency",
        published: Some("mosquitto 33.5k/s 17 us, NATS 7k 201 us (limit of the generator)"),
        shape: Shape::ConnectBurst,
        clients: 100,
        ..PAIRS
    },
    Scenario {
        name: "CONNSCALE",
        about: "memory of the server per idle connection",
        published: Some("mosquitto 2.0 734 B, FlashMQ 4.4 KB, mosquitto 2.1 5.1 KB, NATS 34 KB"),
        shape: Shape::ConnectScale,
        clients: 15_000,
        ..PAIRS
    },
];
