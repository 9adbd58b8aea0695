//! Who is slow delays nobody else, and nothing grows without limit.

use ferrymq_transport::{Closed, ServiceTimer, Settings};

use crate::script::*;

const SIXTEEN_MIB: usize = 16 << 20;

#[test]
fn a_slow_reader_gets_everything_and_delays_nobody() {
    let server = start(settings());
    let (mut slow, mut quick) = (server.peer(), server.peer());
    slow.send(&packet(GIVE, SIXTEEN_MIB as u32));
    (0..100).for_each(|number| quick.echo(number));
    slow.expect(&given(SIXTEEN_MIB));
    slow.echo(1);
    assert!(server.stop().statistics.short_writes > 0);
}

#[test]
fn the_service_sees_how_much_a_peer_has_not_taken() {
    let (mut io_thread, address) = script_loop(settings());
    let mut peer = Peer::connect(address);
    peer.send(&packet(GIVE, SIXTEEN_MIB as u32));
    while io_thread.service().statistics.short_writes == 0 {
        io_thread.turn().unwrap();
        let (service, io) = io_thread.parts();
        service.statistics = *io.statistics();
    }
    let (service, io) = io_thread.parts();
    let (id, sent) = (service.accepted[0].0, io.statistics().bytes_out);
    assert_eq!(io.buffered(id) as u64, SIXTEEN_MIB as u64 - sent);
}

#[test]
fn output_beyond_the_limit_ends_the_connection() {
    let server = start(Settings { output_bytes_max: 1 << 20, ..settings() });
    let mut peer = server.peer();
    peer.send(&packet(GIVE, 50 << 20));
    let mut rest = Vec::new();
    assert!(std::io::Read::read_to_end(&mut peer.0, &mut rest).is_err(), "reset");
    server.peer().echo(1);
    assert_eq!(server.stop().closed[0].1, Closed::OutputLimit);
}

#[test]
fn all_connections_together_buffer_no_more_than_their_limit() {
    let (mut io_thread, address) = script_loop(Settings { buffered_bytes_max: 1 << 20, ..settings() });
    let mut peers: Vec<Peer> = (0..3).map(|_| Peer::connect(address)).collect();
    let incomplete = [(10u32 << 20).to_be_bytes().to_vec(), vec![0; 400 << 10]].concat();
    while io_thread.service().closed.is_empty() {
        for peer in &mut peers {
            peer.0.set_nonblocking(true).unwrap();
            let _ = std::io::Write::write(&mut peer.0, &incomplete);
        }
        io_thread.turn().unwrap();
    }
    assert_eq!(io_thread.service().closed[0].1, Closed::MemoryLimit);
    assert!(io_thread.parts().1.statistics().buffered <= 2 << 20);
}

#[test]
fn while_the_service_may_not_read_nothing_is_read_and_nothing_spins() {
    let (mut io_thread, address) = script_loop(settings());
    let waker = io_thread.waker();
    let mut peers = [Peer::connect(address), Peer::connect(address)];
    peers[0].send(&packet(HOLD, 0));
    while !io_thread.service().held {
        io_thread.turn().unwrap();
    }
    peers[0].expect(&packet(HOLD, 0));
    peers.iter_mut().for_each(|peer| peer.send(&packet(ECHO, 1)));
    let (service, io) = io_thread.parts();
    let before = *io.statistics();
    io.set_service_timer(ServiceTimer(0), io.now_ms() + 30);
    service.service_timers.clear();
    while io_thread.service().service_timers.is_empty() {
        io_thread.turn().unwrap();
    }
    let after = *io_thread.parts().1.statistics();
    assert_eq!(after.reads, before.reads);
    assert!(after.loops - before.loops < 10, "{} loops", after.loops - before.loops);
    waker.wake();
    while io_thread.service().statistics.reads < before.reads + 2 {
        io_thread.turn().unwrap();
    }
    peers.iter_mut().for_each(|peer| peer.expect(&packet(ECHO, 1)));
}

/// Whole packets that were left come again after resume, before what arrived later, and without new input.
#[test]
fn a_paused_connection_goes_on_where_it_stopped() {
    let server = start(settings());
    let mut peer = server.peer();
    peer.send(
        &[packet(ECHO, 1), packet(PAUSE, 5), packet(ECHO, 2), packet(PAUSE, 5), packet(ECHO, 3)].concat(),
    );
    peer.expect(&packet(ECHO, 1));
    peer.send(&packet(ECHO, 4));
    (2..=4).for_each(|number| peer.expect(&packet(ECHO, number)));
    server.stop();
}

/// Also more than what a connection's rest may be copied to the front of the buffer.
#[test]
fn a_service_that_is_full_gets_the_rest_again_once_it_may_read() {
    for count in [2, 5_000] {
        let server = start(settings());
        let mut peer = server.peer();
        let rest: Vec<u8> = (0..count).flat_map(|number| packet(ECHO, number)).collect();
        peer.send(&[packet(FULL, 0), rest.clone()].concat());
        peer.expect(&packet(FULL, 0));
        server.waker.wake();
        peer.expect(&rest);
        server.stop();
    }
}

#[test]
fn a_wake_reaches_a_sleeping_loop() {
    let server = start(settings());
    let mut peer = server.peer();
    peer.echo(1);
    peer.send(&packet(HOLD, 0));
    peer.expect(&packet(HOLD, 0));
    peer.send(&packet(ECHO, 2));
    let waker = server.waker.clone();
    std::thread::spawn(move || waker.wake()).join().unwrap();
    peer.expect(&packet(ECHO, 2));
    assert_eq!(server.stop().woken, 1);
}
