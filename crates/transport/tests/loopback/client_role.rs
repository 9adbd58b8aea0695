//! Connections that we start.

use std::net::SocketAddr;

use ferrymq_transport::{Closed, ConnectError, Settings};
use rustix::io::Errno;

use crate::script::*;

/// Both ends in one loop: a thousand clients from ten addresses, each asks for an echo before it is even connected.
#[test]
fn a_loop_can_be_its_own_clients() {
    let (mut io_thread, address) = script_loop(settings());
    let (_, io) = io_thread.parts();
    for number in 0..1_000 {
        let source: SocketAddr = format!("127.0.1.{}:0", number % 10 + 1).parse().unwrap();
        let id = io.connect(address, Some(source)).unwrap();
        io.output(id).unwrap().extend_from_slice(&packet(ECHO, number));
    }
    while io_thread.service().replies.len() < 1_000 {
        io_thread.turn().unwrap();
    }
    let (service, io) = io_thread.parts();
    assert_eq!((service.connected.len(), service.accepted.len()), (1_000, 1_000));
    let sources: std::collections::BTreeSet<_> =
        service.accepted.iter().map(|(id, _)| io.peer(*id).unwrap().ip()).collect();
    assert_eq!(sources.len(), 10);
    io.stop();
    while !io_thread.is_over() {
        io_thread.turn().unwrap();
    }
    assert_eq!(io_thread.service().closed.len(), 2_000);
}

#[test]
fn a_refused_connect_is_told_by_closed() {
    let (mut io_thread, _) = script_loop(settings());
    // A port that was free a moment ago.
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let id = io_thread.parts().1.connect(nobody, None).unwrap();
    while io_thread.service().closed.is_empty() {
        io_thread.turn().unwrap();
    }
    assert_eq!(io_thread.service().closed, [(id, Closed::ConnectFailed(Errno::CONNREFUSED))]);
    assert!(io_thread.service().connected.is_empty());
}

#[test]
fn a_connect_that_nobody_answers_times_out() {
    let settings = Settings { connect_timeout_ms: 20, ..settings() };
    let (mut io_thread, _) = script_loop(settings);
    // A listener whose backlog is full drops further handshakes.
    let deaf =
        rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None).unwrap();
    rustix::net::bind(&deaf, &"127.0.0.1:0".parse::<SocketAddr>().unwrap()).unwrap();
    rustix::net::listen(&deaf, 0).unwrap();
    let address = SocketAddr::try_from(rustix::net::getsockname(&deaf).unwrap()).unwrap();
    for _ in 0..5 {
        io_thread.parts().1.connect(address, None).unwrap();
    }
    while io_thread.service().closed.len() < 3 {
        io_thread.turn().unwrap();
    }
    let causes: Vec<_> = io_thread.service().closed.iter().map(|(_, cause)| *cause).collect();
    assert!(causes.iter().all(|cause| *cause == Closed::ConnectFailed(Errno::TIMEDOUT)), "{causes:?}");
}

#[test]
fn connects_beyond_the_limit_or_from_a_foreign_address_are_refused_at_once() {
    let (mut io_thread, address) = script_loop(Settings { connections_max: 1, ..settings() });
    let (_, io) = io_thread.parts();
    let foreign = Some("192.0.2.1:0".parse().unwrap());
    assert!(matches!(
        io.connect(address, foreign),
        Err(ConnectError::System { errno: Errno::ADDRNOTAVAIL, .. })
    ));
    io.connect(address, None).unwrap();
    assert!(matches!(io.connect(address, None), Err(ConnectError::Full)));
}
