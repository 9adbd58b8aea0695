//! An engine on real files: what it acknowledges survives, what it releases was durable, space is reclaimed.

use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use ferrymq_engine::{
    Command, Connect, ConnectionId, DeliveryTag, Durability, Effect, Engine, EngineSettings, Limits,
    LogSettings, Outcome, Publish, RetainHandling, SESSION_NEVER_EXPIRES, Settlement, Subscribe,
    SubscriptionRequest, Will,
};
use ferrymq_message::{Descriptor, Message, Persistence, QoS, Timestamp};

struct Running {
    engine: Engine,
    wakes: Receiver<()>,
    now: Timestamp,
    /// What was delivered and not asked for yet.
    delivered: Vec<(ConnectionId, DeliveryTag, Vec<u8>)>,
}

impl Running {
    fn open(directory: &Path, change: impl FnOnce(&mut EngineSettings)) -> Running {
        let mut settings = EngineSettings {
            name: "QM1".into(),
            directory: directory.into(),
            durability: Durability::Fsync,
            limits: Limits::default(),
            log: LogSettings { extent_size: 1 << 20, ..LogSettings::default() },
        };
        change(&mut settings);
        let (send, wakes) = channel();
        let send = Mutex::new(send);
        let wake = move || drop(send.lock().map(|send| send.send(())));
        let now = Timestamp(1_000);
        let engine = Engine::open(&settings, now, Arc::new(wake)).expect("an engine");
        Running { engine, wakes, now, delivered: Vec::new() }
    }

    fn turn(&mut self, mut commands: Vec<Command>) -> Vec<Effect> {
        let outbox = self.engine.turn(self.now, &mut commands).expect("a turn");
        for effect in &outbox.effects {
            if let Effect::Deliver { message, first, count } = effect {
                for target in &outbox.targets[*first as usize..(*first + *count) as usize] {
                    self.delivered.push((target.connection, target.tag, message.body().to_vec()));
                }
            }
        }
        outbox.effects.clone()
    }

    /// Takes turns until so many effects have come.
    fn until(&mut self, command: Command, count: usize) -> Vec<Effect> {
        let mut effects = self.turn(vec![command]);
        while effects.len() < count {
            self.wakes.recv().expect("the writer lives");
            effects.append(&mut self.turn(Vec::new()));
        }
        effects
    }

    fn connect(&mut self, connection: u64, client: &str) -> bool {
        self.connect_as(connect(connection, client))
    }

    fn connect_with_will(&mut self, connection: u64, will: Will) {
        let client = format!("client {connection}");
        self.connect_as(Connect { will: Some(Box::new(will)), ..connect(connection, &client) });
    }

    fn connect_as(&mut self, connect: Connect) -> bool {
        let effects = self.until(Command::Connect(Box::new(connect)), 1);
        matches!(effects[0], Effect::Connected { session_present: true, .. })
    }

    fn subscribe(&mut self, connection: u64, filter: &str) {
        let subscriptions = vec![SubscriptionRequest {
            filter: filter.into(),
            qos: QoS::AtLeastOnce,
            no_local: false,
            retain_as_published: false,
            retain_handling: RetainHandling::Send,
        }];
        let connection = ConnectionId(connection);
        self.until(
            Command::Subscribe(Box::new(Subscribe {
                connection,
                request: 1,
                identifier: None,
                subscriptions,
            })),
            1,
        );
    }

    fn publish(&mut self, connection: u64, topic: &str, body: &[u8]) {
        let effects = self.until(publish(connection, topic, body), 1);
        let is_done = |effect: &Effect| matches!(effect, Effect::Confirm { outcome: Outcome::Done, .. });
        assert!(effects.iter().any(is_done), "{effects:?}");
    }

    /// So many messages as they come, each acknowledged.
    fn drain(&mut self, expected: usize) -> Vec<Vec<u8>> {
        let mut bodies = Vec::new();
        while bodies.len() < expected {
            if self.delivered.is_empty() {
                self.wakes.recv().expect("the writer lives");
                self.turn(Vec::new());
            }
            for (connection, tag, body) in std::mem::take(&mut self.delivered) {
                bodies.push(body);
                self.turn(vec![Command::Settle { connection, tag, settlement: Settlement::Accepted }]);
            }
        }
        bodies
    }
}

fn connect(connection: u64, client: &str) -> Connect {
    Connect {
        connection: ConnectionId(connection),
        client_id: client.into(),
        clean_start: false,
        session_expiry_s: SESSION_NEVER_EXPIRES,
        receive_maximum: 100,
        will: None,
    }
}

fn publish(connection: u64, topic: &str, body: &[u8]) -> Command {
    let descriptor =
        Descriptor { qos: QoS::AtLeastOnce, persistence: Persistence::Persistent, ..Descriptor::default() };
    let message = Message::from_parts(descriptor, topic, &[], body);
    Command::Publish(Publish { connection: ConnectionId(connection), message, tag: DeliveryTag(1) })
}

#[test]
fn what_was_acknowledged_survives_a_process_that_never_closed() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut running = Running::open(directory.path(), |_| {});
    running.connect(1, "subscriber");
    running.subscribe(1, "a/#");
    running.turn(vec![Command::Lost { connection: ConnectionId(1) }]);
    running.connect(2, "publisher");
    let large = vec![7; 3 << 20];
    for body in [&b"first"[..], &large, b"last"] {
        running.publish(2, "a/b", body);
    }
    drop(running);
    let mut running = Running::open(directory.path(), |_| {});
    assert!(running.connect(3, "subscriber"));
    assert_eq!(running.drain(3), [b"first".to_vec(), large, b"last".to_vec()]);
    let statistics = running.engine.statistics();
    assert_eq!((statistics.sessions, statistics.subscriptions), (2, 1));
}

#[test]
fn a_second_engine_on_the_same_directory_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let _running = Running::open(directory.path(), |_| {});
    let settings = EngineSettings {
        name: "QM1".into(),
        directory: directory.path().into(),
        durability: Durability::Fsync,
        limits: Limits::default(),
        log: LogSettings::default(),
    };
    let second = Engine::open(&settings, Timestamp(1), Arc::new(|| {}));
    assert!(second.is_err_and(|error| error.to_string().contains("QM1")));
}

#[test]
fn in_memory_nothing_waits_and_nothing_is_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut running = Running::open(directory.path(), |settings| settings.durability = Durability::Memory);
    running.connect(1, "subscriber");
    running.subscribe(1, "a/#");
    let effects = running.turn(vec![publish(1, "a/b", b"x")]);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Confirm { .. })));
    assert_eq!(running.delivered.len(), 1);
    assert_eq!(running.engine.log_bytes(), 0);
    assert_eq!(std::fs::read_dir(directory.path()).expect("readable").count(), 0);
}

#[test]
fn space_is_reclaimed_while_one_slow_session_lags() {
    let directory = tempfile::tempdir().expect("a directory");
    let reclaim = |settings: &mut EngineSettings| settings.log.reclaim_after = 2 << 20;
    let mut running = Running::open(directory.path(), reclaim);
    running.connect(1, "laggard");
    running.subscribe(1, "a/#");
    running.connect(3, "publisher");
    for n in 0..10u32 {
        running.publish(3, "a/b", &n.to_le_bytes());
    }
    running.turn(vec![Command::Lost { connection: ConnectionId(1) }]);
    running.delivered.clear();
    running.connect(2, "reader");
    running.subscribe(2, "b");
    for _ in 0..3_000 {
        running.publish(3, "b", &[1; 10_000]);
        running.drain(1);
    }
    assert!(running.engine.log_bytes() <= 8 << 20, "{} bytes for 30 MB written", running.engine.log_bytes());
    drop(running);
    let mut running = Running::open(directory.path(), reclaim);
    running.connect(4, "laggard");
    let bodies = running.drain(10);
    assert_eq!(bodies, (0..10u32).map(|n| n.to_le_bytes().to_vec()).collect::<Vec<_>>());
}

#[test]
fn a_log_in_which_all_is_live_comes_to_rest() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut running = Running::open(directory.path(), |settings| {
        settings.log = LogSettings { extent_size: 64 << 10, reclaim_after: 0, ..settings.log.clone() };
    });
    // Wills are not counted as live: for all that the journal knows, nearly all of this is dead.
    for n in 0..10 {
        let descriptor = Descriptor { qos: QoS::AtLeastOnce, ..Descriptor::default() };
        let message = Message::from_parts(descriptor, "will", &[], &[b'x'; 30_000]);
        running.connect_with_will(n, Will { message, delay_s: 0, message_expiry_s: None });
    }
    let rest = std::time::Duration::from_millis(20);
    let (mut wakes, mut quiet) = (0, 0);
    while quiet < 10 {
        running.turn(Vec::new());
        quiet = if running.wakes.recv_timeout(rest).is_ok() { 0 } else { quiet + 1 };
        wakes += usize::from(quiet == 0);
        assert!(wakes < 1_000, "roll-forward goes on for ever, at {} bytes", running.engine.log_bytes());
    }
    assert!(running.engine.log_bytes() <= 1 << 20, "{}", running.engine.log_bytes());
}

/// Flips one bit where this text stands in the log.
fn damage(directory: &Path, text: &[u8]) {
    let mut files: Vec<_> =
        std::fs::read_dir(directory).expect("readable").map(|entry| entry.expect("one").path()).collect();
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(path).expect("readable").map(|entry| entry.expect("one").path()));
            continue;
        }
        let mut bytes = std::fs::read(&path).expect("readable");
        if let Some(at) = bytes.windows(text.len()).position(|window| window == text) {
            bytes[at] ^= 1;
            return std::fs::write(&path, bytes).expect("writable");
        }
    }
    panic!("not in the log");
}

#[test]
fn damage_to_the_last_acknowledged_record_is_refused_once_the_log_has_been_idle() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut running = Running::open(directory.path(), |_| {});
    running.connect(1, "subscriber");
    running.subscribe(1, "a/#");
    running.publish(1, "a/b", b"the last one");
    while let Some(due) = running.engine.next_timeout() {
        running.now = running.now.max(due);
        running.turn(Vec::new());
    }
    // The proof is on its way; dropping the engine waits for it as the disk would.
    drop(running);
    damage(directory.path(), b"the last one");
    let settings = EngineSettings {
        name: "QM1".into(),
        directory: directory.path().into(),
        durability: Durability::Fsync,
        limits: Limits::default(),
        log: LogSettings::default(),
    };
    let error = Engine::open(&settings, Timestamp(1), Arc::new(|| {})).err().expect("refused").to_string();
    assert!(error.contains("damaged") && error.contains("offset"), "{error}");
}
