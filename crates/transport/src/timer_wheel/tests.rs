//! The wheel against the clock of the test, and against a sorted map.

use std::collections::BTreeMap;

use super::*;

/// A present with all digits in use, close to a carry through four levels.
const NOW: u64 = (1_800_000_000_000 >> 24 << 24) + (1 << 24) - 100;

fn expired(wheel: &mut TimerWheel, now: u64) -> Vec<u32> {
    let mut fired = Vec::new();
    wheel.expire(now, &mut fired);
    fired.retain(|key| wheel.take_fired(*key));
    fired
}

#[test]
fn timers_fire_in_the_order_of_their_times() {
    let mut wheel = TimerWheel::new(NOW);
    let delays = [5_000_000, 3, 70, 64, 4_095, 63, 300_000, 4_096, 65, 1];
    for (key, delay) in delays.iter().enumerate() {
        wheel.set(key as u32, NOW + delay);
    }
    let order = expired(&mut wheel, NOW + 10_000_000);
    let mut sorted = delays;
    sorted.sort();
    assert_eq!(order.iter().map(|key| delays[*key as usize]).collect::<Vec<_>>(), sorted);
}

#[test]
fn a_timer_fires_at_its_millisecond_and_not_before() {
    for delay in [0, 1, 63, 64, 99, 100, 101, 4_096, 262_144, 20_000_000] {
        let mut wheel = TimerWheel::new(NOW);
        wheel.set(0, NOW + delay);
        if delay > 0 {
            assert_eq!(expired(&mut wheel, NOW + delay - 1), [], "{delay}");
        }
        assert_eq!(expired(&mut wheel, NOW + delay), [0], "{delay}");
        assert_eq!(wheel.next_ms(), None);
    }
}

#[test]
fn arming_later_moves_nothing_until_the_old_time() {
    let mut wheel = TimerWheel::new(NOW);
    wheel.set(0, NOW + 50);
    let at = wheel.next_ms();
    for later in 51..1_000 {
        wheel.set(0, NOW + later);
        assert_eq!(wheel.next_ms(), at);
    }
    assert_eq!(expired(&mut wheel, NOW + 998), []);
    assert_eq!(expired(&mut wheel, NOW + 999), [0]);
}

#[test]
fn arming_earlier_fires_earlier() {
    let mut wheel = TimerWheel::new(NOW);
    wheel.set(0, NOW + 100_000);
    wheel.set(1, NOW + 100_000);
    wheel.set(2, NOW + 100_000);
    wheel.set(1, NOW + 5);
    assert_eq!(expired(&mut wheel, NOW + 99_999), [1]);
    assert_eq!(expired(&mut wheel, NOW + 100_000).len(), 2);
}

#[test]
fn a_disarmed_timer_does_not_fire_even_if_it_had_expired() {
    let mut wheel = TimerWheel::new(NOW);
    wheel.set(0, NOW + 5);
    wheel.set(1, NOW + 6);
    wheel.clear(0);
    let mut fired = Vec::new();
    wheel.expire(NOW + 10, &mut fired);
    wheel.clear(1);
    assert!(!fired.iter().any(|key| wheel.take_fired(*key)));
}

#[test]
fn the_next_time_is_never_late() {
    let mut wheel = TimerWheel::new(NOW);
    assert_eq!(wheel.next_ms(), None);
    wheel.set(3, NOW + 7);
    assert_eq!(wheel.next_ms(), Some(NOW + 7));
    wheel.set(3, NOW + 1_000_000);
    while let Some(at) = wheel.next_ms() {
        assert!(at <= NOW + 1_000_000);
        let fired = expired(&mut wheel, at);
        assert_eq!(fired.is_empty(), at < NOW + 1_000_000);
    }
}

/// Some thousand random steps against a map from key to time.
#[test]
fn it_does_what_a_sorted_map_does() {
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let (mut wheel, mut model, mut now) = (TimerWheel::new(NOW), BTreeMap::new(), NOW);
    for _ in 0..20_000 {
        let key = next(50) as u32;
        match next(8) {
            0 => {
                wheel.clear(key);
                model.remove(&key);
            }
            1..=5 => {
                let due = now + 1 + (next(1 << 20) >> next(20));
                wheel.set(key, due);
                model.insert(key, due);
            }
            _ => {
                now += next(1 << 18) >> next(18);
                let due: Vec<u32> = model.extract_if(.., |_, due| *due <= now).map(|(key, _)| key).collect();
                let mut fired = expired(&mut wheel, now);
                fired.sort();
                assert_eq!(fired, due);
            }
        }
    }
}
