//! Timers, and turns asked for in microseconds.

use ferrymq_transport::ServiceTimer;

use crate::script::*;

#[test]
fn timers_of_connections_and_service_fire_in_order() {
    let (mut io_thread, _) = script_loop(settings());
    let (_, io) = io_thread.parts();
    let now = io.now_ms();
    for (timer, delay) in [(0, 30), (1, 10), (2, 20), (3, 15)] {
        io.set_service_timer(ServiceTimer(timer), now + delay);
    }
    io.clear_service_timer(ServiceTimer(3));
    io.set_service_timer(ServiceTimer(1), now + 40);
    while io_thread.service().service_timers.len() < 3 {
        io_thread.turn().unwrap();
    }
    assert!(io_thread.parts().1.now_ms() >= now + 40);
    assert_eq!(io_thread.service().service_timers, [2, 0, 1]);
}

#[test]
fn a_connections_timer_fires_once_at_its_time() {
    let server = start(settings());
    let (mut first, mut second) = (server.peer(), server.peer());
    first.send(&packet(LATER, 30));
    second.send(&packet(LATER, 5));
    second.expect(&packet(LATER, 5));
    first.expect(&packet(LATER, 30));
    assert_eq!(server.stop().timers.len(), 2);
}

#[test]
fn the_first_turn_comes_without_an_event() {
    let (mut io_thread, _) = script_loop(settings());
    io_thread.turn().unwrap();
    assert_eq!(io_thread.service().turns, 1);
}

/// 20 turns 300 µs apart: with milliseconds they would take 20 ms at least.
#[test]
fn turns_can_be_asked_for_in_microseconds() {
    let (mut io_thread, _) = script_loop(settings());
    let mut at_us = io_thread.parts().1.now_us();
    let mut best = u64::MAX;
    for _ in 0..20 {
        at_us = io_thread.parts().1.now_us() + 300;
        let (_, io) = io_thread.parts();
        io.wake_at_us(at_us);
        while io_thread.parts().1.now_us() < at_us {
            io_thread.parts().1.wake_at_us(at_us);
            io_thread.turn().unwrap();
        }
        best = best.min(io_thread.parts().1.now_us() - at_us);
    }
    assert!(best < 700, "at best {best} µs late at {at_us}");
}
