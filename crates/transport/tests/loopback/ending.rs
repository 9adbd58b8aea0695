//! The ends of a connection: what still arrives, what is told, what is left.

use std::io::{ErrorKind, Read};
use std::net::Shutdown;

use ferrymq_transport::{Closed, Settings};

use crate::script::*;

const FOUR_MIB: usize = 4 << 20;

#[test]
fn close_sends_what_is_buffered_and_then_the_end() {
    let server = start(Settings::default());
    let mut peer = server.peer();
    peer.send(&packet(GIVE_AND_CLOSE, FOUR_MIB as u32));
    peer.expect(&given(FOUR_MIB));
    peer.expect_end();
    drop(peer);
    assert_eq!(server.stop().closed[0].1, Closed::ByService);
}

/// A close with unread input would be a reset, which destroys what the peer has not yet read.
#[test]
fn the_last_packet_arrives_though_the_peer_had_sent_more() {
    let server = start(Settings::default());
    let mut peer = server.peer();
    let mut bytes = packet(GIVE_AND_CLOSE, 100);
    bytes.extend(vec![0; 1 << 20]);
    peer.send(&bytes);
    peer.expect(&given(100));
    peer.expect_end();
    peer.send(b"still not a reset");
    drop(peer);
    server.stop();
}

#[test]
fn abort_resets_the_connection() {
    let server = start(Settings::default());
    let mut peer = server.peer();
    peer.send(&packet(ABORT, 0));
    assert_eq!(peer.0.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    drop(peer);
    assert_eq!(server.stop().closed[0].1, Closed::ByService);
}

#[test]
fn a_peer_that_ends_its_stream_still_gets_its_answers() {
    let server = start(Settings::default());
    let mut peer = server.peer();
    peer.send(&packet(GIVE, FOUR_MIB as u32));
    peer.0.shutdown(Shutdown::Write).unwrap();
    peer.expect(&given(FOUR_MIB));
    peer.expect_end();
    drop(peer);
    assert_eq!(server.stop().closed[0].1, Closed::ByPeer);
}

#[test]
fn a_peer_that_never_reads_does_not_keep_a_closed_connection_for_long() {
    let server = start(Settings { linger_ms: 50, ..Settings::default() });
    let mut silent = server.peer();
    silent.send(&packet(GIVE_AND_CLOSE, 50 << 20));
    // Ends only when the connection of the silent peer is gone.
    server.stop();
}

#[test]
fn a_peer_that_floods_a_closed_connection_is_reset() {
    let server = start(Settings { linger_bytes_max: 100_000, ..Settings::default() });
    let mut peer = server.peer();
    peer.send(&packet(GIVE_AND_CLOSE, 1));
    peer.expect(&given(1));
    let flood = vec![0; 1 << 20];
    let failed = (0..1_000).any(|_| std::io::Write::write_all(&mut peer.0, &flood).is_err());
    assert!(failed);
    drop(peer);
    server.stop();
}

#[test]
fn stop_closes_every_connection_in_order() {
    let server = start(Settings::default());
    let mut peers: Vec<Peer> = (0..10).map(|_| server.peer()).collect();
    peers.iter_mut().for_each(|peer| peer.echo(1));
    peers[0].send(&[packet(ECHO, 2), packet(STOP, 0)].concat());
    peers[0].expect(&packet(ECHO, 2));
    peers.iter_mut().for_each(Peer::expect_end);
    drop(peers);
    let script = server.join();
    assert!(script.closed.iter().all(|(_, cause)| *cause == Closed::Stopping));
    assert_eq!(script.closed.len(), 10);
}

#[test]
fn a_token_of_a_closed_connection_reaches_nobody() {
    let (mut io_thread, address) = script_loop(Settings::default());
    let first = Peer::connect(address);
    while io_thread.service().accepted.is_empty() {
        io_thread.turn().unwrap();
    }
    drop(first);
    while io_thread.service().closed.is_empty() {
        io_thread.turn().unwrap();
    }
    let mut second = Peer::connect(address);
    while io_thread.service().accepted.len() < 2 {
        io_thread.turn().unwrap();
    }
    let (service, io) = io_thread.parts();
    let (old, new) = (service.accepted[0].0, service.accepted[1].0);
    assert_eq!(old.slot(), new.slot());
    assert!(io.output(old).is_none() && io.peer(old).is_none() && !io.is_open(old));
    io.set_timer(old, 0);
    io.abort(old);
    assert!(io.is_open(new));
    io.output(new).unwrap().extend_from_slice(b"hello");
    io_thread.turn().unwrap();
    second.expect(b"hello");
    assert!(io_thread.service().timers.is_empty());
}

/// A client that says goodbye and goes without reading what was sent to it resets the connection; our answer fails.
#[test]
fn what_a_peer_said_before_it_reset_the_connection_is_read() {
    let (mut io_thread, address) = script_loop(Settings::default());
    let mut peer = Peer::connect(address);
    peer.echo_through(&mut io_thread);
    peer.send(&packet(ECHO, 2));
    while io_thread.parts().1.statistics().writes < 2 {
        io_thread.turn().unwrap();
    }
    peer.send(&packet(ECHO, 3));
    drop(peer);
    while io_thread.service().closed.is_empty() {
        io_thread.turn().unwrap();
    }
    let statistics = *io_thread.parts().1.statistics();
    assert_eq!(statistics.bytes_in as usize, 3 * packet(ECHO, 1).len());
    assert_eq!((statistics.closed, statistics.connections), (1, 0));
}

/// Connections that come and go in every manner: each ends once, and nothing is left.
#[test]
fn after_a_lot_of_coming_and_going_nothing_is_left() {
    let server = start(Settings::default());
    for round in 0..20 {
        let mut peers: Vec<Peer> = (0..50).map(|_| server.peer()).collect();
        for (number, peer) in peers.iter_mut().enumerate() {
            match (round + number) % 6 {
                0 => peer.echo(1),
                1 => peer.send(&packet(ABORT, 0)),
                2 => peer.send(&packet(GIVE_AND_CLOSE, 100_000)),
                3 => peer.send(&[packet(ECHO, 1), packet(GIVE, 1_000_000)].concat()),
                4 => peer.0.shutdown(Shutdown::Write).unwrap(),
                _ => {}
            }
        }
    }
    let script = server.stop();
    let ended: std::collections::BTreeSet<_> = script.closed.iter().map(|(id, _)| *id).collect();
    assert_eq!((script.accepted.len(), script.closed.len(), ended.len()), (1_001, 1_001, 1_001));
}
