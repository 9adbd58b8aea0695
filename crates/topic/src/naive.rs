//! The specification's matching rules written down as plainly as they are read: what the trees are tested against.

use alloc::string::String;
use alloc::vec::Vec;
use proptest::prelude::*;

/// Whether the filter matches the topic (MQTT 4.7).
pub(crate) fn matches(filter: &str, topic: &str) -> bool {
    if topic.starts_with('$') && filter.starts_with(['+', '#']) {
        return false;
    }
    let (filter, topic): (Vec<_>, Vec<_>) = (filter.split('/').collect(), topic.split('/').collect());
    levels_match(&filter, &topic)
}

fn levels_match(filter: &[&str], topic: &[&str]) -> bool {
    match (filter, topic) {
        (["#"], _) => true,
        ([], []) => true,
        (["+", filter @ ..], [_, topic @ ..]) => levels_match(filter, topic),
        ([level, filter @ ..], [name, topic @ ..]) => level == name && levels_match(filter, topic),
        _ => false,
    }
}

/// Names of few levels out of few words, so that they meet.
pub(crate) fn name() -> impl Strategy<Value = String> {
    proptest::collection::vec(word(), 1..6).prop_map(join)
}

/// Filters out of the same words.
pub(crate) fn filter() -> impl Strategy<Value = String> {
    let level = prop_oneof![3 => word(), 2 => Just("+")];
    (proptest::collection::vec(level, 0..5), any::<bool>()).prop_map(|(mut levels, rest)| {
        if rest || levels.is_empty() {
            levels.push("#");
        }
        join(levels)
    })
}

fn word() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just(""), Just("a"), Just("b"), Just("$SYS"), Just("a-level-of-more-than-22-bytes")]
}

/// A single empty level is no name: it becomes two.
fn join(levels: Vec<&'static str>) -> String {
    let text = levels.join("/");
    if text.is_empty() { String::from("/") } else { text }
}
