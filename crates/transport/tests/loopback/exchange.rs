//! Bytes there and back: partial packets, big ones, batches, many connections.

use ferrymq_transport::Settings;

use crate::script::*;

#[test]
fn a_packet_comes_back() {
    let server = start(settings());
    server.peer().echo(7);
    server.stop();
}

#[test]
fn a_packet_may_come_byte_by_byte() {
    let server = start(settings());
    let mut peer = server.peer();
    for number in 0..20 {
        for byte in packet(ECHO, number) {
            peer.send(&[byte]);
        }
    }
    (0..20).for_each(|number| peer.expect(&packet(ECHO, number)));
    server.stop();
}

#[test]
fn packets_of_all_sizes_survive_a_small_buffer() {
    let server = start(Settings { scratch_bytes: 4 << 10, ..settings() });
    let mut peer = server.peer();
    let bodies: Vec<Vec<u8>> = (0..200).map(|i| vec![ECHO; 1 + i * i * 7 % 9_001]).collect();
    let all: Vec<u8> = bodies.iter().flat_map(|body| framed(body)).collect();
    peer.send(&all);
    peer.expect(&all);
    server.stop();
}

#[test]
fn a_packet_of_twenty_mebibytes_arrives_whole() {
    let server = start(settings());
    let mut peer = server.peer();
    let big = framed(&vec![ECHO; 20 << 20]);
    let mut writer = Peer(peer.0.try_clone().unwrap());
    let sent = big.clone();
    let writing = std::thread::spawn(move || writer.send(&sent));
    peer.expect(&big);
    writing.join().unwrap();
    peer.echo(1);
    server.stop();
}

#[test]
fn input_beyond_the_limit_ends_the_connection() {
    let server = start(Settings { partial_bytes_max: 100_000, ..settings() });
    let mut peer = server.peer();
    // The peer may be reset while it still writes.
    let _ = std::io::Write::write_all(&mut peer.0, &framed(&vec![ECHO; 1 << 20]));
    assert!(std::io::Read::read(&mut peer.0, &mut [0; 1]).is_err(), "reset");
    server.peer().echo(1);
    let script = server.stop();
    assert_eq!(script.closed[0].1, ferrymq_transport::Closed::InputLimit);
}

#[test]
fn a_batch_costs_one_read_and_one_write() {
    let (mut io_thread, address) = script_loop(settings());
    let mut peer = Peer::connect(address);
    let batch: Vec<u8> = (0..1_000).flat_map(|number| packet(ECHO, number)).collect();
    peer.send(&batch);
    while io_thread.service().statistics.reads == 0 {
        io_thread.turn().unwrap();
    }
    peer.expect(&batch);
    let statistics = *io_thread.parts().1.statistics();
    assert_eq!((statistics.reads, statistics.writes), (1, 1));
    assert_eq!((statistics.bytes_in, statistics.bytes_out), (batch.len() as u64, batch.len() as u64));
}

#[test]
fn a_thousand_connections_are_served_at_once() {
    let server = start(settings());
    let mut peers: Vec<Peer> = (0..1_000).map(|_| server.peer()).collect();
    for (number, peer) in peers.iter_mut().enumerate() {
        peer.send(&packet(ECHO, number as u32));
    }
    for (number, peer) in peers.iter_mut().enumerate() {
        peer.expect(&packet(ECHO, number as u32));
    }
    assert_eq!(peers[0].statistics()[6], 1_000);
    let script = server.stop();
    assert_eq!(script.accepted.len(), 1_001);
    assert_eq!(script.closed.len(), 1_001);
}
