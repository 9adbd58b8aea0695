//! How connections come in: limits, rates, listeners, and a process out of file descriptors.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use ferrymq_transport::{IoThread, ListenerId, ListenerSettings, Settings, StartError};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::script::*;

#[test]
fn a_connection_beyond_the_limit_is_closed_at_once() {
    let server = start(Settings { connections_max: 2, ..settings() });
    let (mut first, mut second) = (server.peer(), server.peer());
    first.echo(1);
    second.echo(1);
    server.peer().expect_end();
    assert_eq!(first.statistics()[4], 1, "refused");
    first.send(&packet(STOP, 0));
    drop((first, second));
    server.join();
}

#[test]
fn connections_beyond_the_rate_wait_their_turn() {
    let server = start(Settings { accepts_per_s: Some(100), ..settings() });
    let begin = std::time::Instant::now();
    let mut peers: Vec<Peer> = (0..20).map(|_| server.peer()).collect();
    peers.iter_mut().for_each(|peer| peer.echo(1));
    // A burst of ten, then one every 10 ms.
    assert!(begin.elapsed().as_millis() >= 90);
    assert!(peers[0].statistics()[0] < 300, "the loop does not spin");
    server.stop();
}

#[test]
fn connections_know_their_listener() {
    let (mut io_thread, _) = script_loop(settings());
    let second = io_thread.listen(ListenerSettings::new("[::1]:0".parse().unwrap())).unwrap();
    let address = io_thread.local_addr(second).unwrap();
    let peer = Peer::connect(address);
    while io_thread.service().accepted.is_empty() {
        io_thread.turn().unwrap();
    }
    let (service, io) = io_thread.parts();
    assert_eq!(service.accepted[0].1, ListenerId(1));
    assert_eq!(io.peer(service.accepted[0].0), Some(peer.0.local_addr().unwrap()));
}

#[test]
fn a_port_in_use_is_refused_unless_it_is_shared_on_purpose() {
    let mut first = IoThread::new(settings(), Script::default()).unwrap();
    let shared = ListenerSettings { reuse_port: true, ..anywhere() };
    let listener = first.listen(shared.clone()).unwrap();
    let address = first.local_addr(listener).unwrap();
    let alone = first.listen(ListenerSettings::new(address));
    assert!(matches!(alone, Err(StartError::Listen { errno: Errno::ADDRINUSE, .. })));
    first.listen(ListenerSettings { address, ..shared }).unwrap();
}

/// In a process of its own, for it lives on few file descriptors. It says its address and ends with its input.
#[test]
#[ignore = "the other half of the next test"]
fn a_server_with_few_file_descriptors() {
    setrlimit(Resource::Nofile, Rlimit { current: Some(40), maximum: Some(40) }).unwrap();
    let server = start(settings());
    println!("\naddress {}", server.address);
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn out_of_file_descriptors_accepting_rests_and_goes_on() {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "accepting::a_server_with_few_file_descriptors", "--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let address = lines.find_map(|line| line.strip_prefix("address ").map(str::to_owned));
    let address = address.unwrap().parse().unwrap();
    let mut served: Vec<Peer> = (0..20).map(|_| Peer::connect(address)).collect();
    served.iter_mut().for_each(|peer| peer.echo(1));
    // More than there are descriptors: they wait in the backlog.
    let mut waiting: Vec<Peer> = (0..30).map(|_| Peer::connect(address)).collect();
    while served[0].statistics()[5] < 2 {}
    let [loops_before, ..] = served[0].statistics();
    while served[0].statistics()[5] < 4 {}
    let [loops, reads, .., exhausted, _] = served[0].statistics();
    assert!(exhausted >= 4);
    assert!(loops - loops_before <= reads + 10, "nothing but our questions turns the loop");
    let mut first = served.remove(0);
    drop(served);
    waiting.iter_mut().take(15).for_each(|peer| peer.echo(2));
    first.echo(3);
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    child.wait().unwrap();
}
