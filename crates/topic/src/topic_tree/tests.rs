//! Matching topics: the specification's examples, pruning, depth, and the naive matcher as oracle.

use super::*;
use crate::naive;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};
use proptest::prelude::*;

fn filter(text: &str) -> TopicFilter<'_> {
    TopicFilter::parse(text).unwrap()
}

fn tree_of(filters: &[&str]) -> TopicTree<String> {
    let mut tree = TopicTree::new();
    for text in filters {
        *tree.entry(&filter(text)) = text.to_string();
    }
    tree
}

fn matches(tree: &TopicTree<String>, topic: &str) -> Vec<String> {
    let mut found = vec![];
    tree.for_each_match(&TopicName::parse(topic).unwrap(), |value| found.push(value.clone()));
    found.sort();
    found
}

#[test]
fn the_multi_level_wildcard_matches_its_parent_and_all_below() {
    let tree = tree_of(&["sport/tennis/player1/#"]);
    for topic in
        ["sport/tennis/player1", "sport/tennis/player1/ranking", "sport/tennis/player1/score/wimbledon"]
    {
        assert_eq!(matches(&tree, topic).len(), 1, "{topic}");
    }
    for topic in ["sport/tennis/player2", "sport/tennis", "sport/tennis/player11"] {
        assert_eq!(matches(&tree, topic).len(), 0, "{topic}");
    }
    assert_eq!(matches(&tree_of(&["sport/#"]), "sport"), ["sport/#"]);
    assert_eq!(matches(&tree_of(&["#"]), "a/b"), ["#"]);
}

#[test]
fn the_single_level_wildcard_matches_one_level_even_an_empty_one() {
    let tree = tree_of(&["sport/tennis/+", "sport/+"]);
    assert_eq!(matches(&tree, "sport/tennis/player1"), ["sport/tennis/+"]);
    assert_eq!(matches(&tree, "sport/tennis/player1/ranking").len(), 0);
    assert_eq!(matches(&tree, "sport").len(), 0);
    assert_eq!(matches(&tree, "sport/"), ["sport/+"]);
    assert_eq!(matches(&tree_of(&["+/+", "/+", "+"]), "/finance"), ["+/+", "/+"]);
}

#[test]
fn wildcards_in_the_first_level_leave_reserved_topics_alone() {
    let tree = tree_of(&["#", "+/monitor/Clients", "$SYS/#", "$SYS/monitor/+", "+/#"]);
    assert_eq!(matches(&tree, "$SYS/monitor/Clients"), ["$SYS/#", "$SYS/monitor/+"]);
    assert_eq!(matches(&tree, "$SYS"), ["$SYS/#"]);
    assert_eq!(matches(&tree, "$other").len(), 0);
    assert_eq!(matches(&tree, "a/$SYS"), ["#", "+/#"]);
}

#[test]
fn names_are_compared_byte_by_byte() {
    let tree = tree_of(&["ACCOUNTS", "Accounts", "/finance", "a//b"]);
    assert_eq!(matches(&tree, "Accounts"), ["Accounts"]);
    assert_eq!(matches(&tree, "finance").len(), 0);
    assert_eq!(matches(&tree, "a//b"), ["a//b"]);
    assert_eq!(matches(&tree, "a/b").len(), 0);
}

#[test]
fn removal_prunes_to_empty() {
    let filters = ["a/b/c", "a/b", "a/+/c", "a/#", "#", "+", "a/a-level-of-more-than-22-bytes/+/x"];
    let mut tree = tree_of(&filters);
    assert_eq!(tree.len(), filters.len());
    for text in filters {
        assert_eq!(tree.remove_if(&filter(text), |_| true).as_deref(), Some(text));
        assert_eq!(tree.get(&filter(text)), None);
    }
    assert!(tree.is_empty());
    assert_eq!(tree.nodes(), 1);
}

#[test]
fn removal_asks_the_condition_and_leaves_what_others_need() {
    let mut tree = tree_of(&["a/b", "a/b/c"]);
    assert_eq!(tree.remove_if(&filter("a/b"), |_| false), None);
    assert_eq!(tree.remove_if(&filter("a"), |_| true), None);
    assert_eq!(tree.len(), 2);
    assert!(tree.remove_if(&filter("a/b"), |value| value == "a/b").is_some());
    assert_eq!(matches(&tree, "a/b/c"), ["a/b/c"]);
    assert_eq!(tree.nodes(), 4);
}

#[test]
fn nodes_are_used_again() {
    let mut tree = TopicTree::<u32>::new();
    for round in 0..1000 {
        *tree.entry(&filter(&format!("a/{round}/+"))) += 1;
        assert_eq!(tree.remove_if(&filter(&format!("a/{round}/+")), |count| *count == 1), Some(1));
    }
    assert_eq!(tree.nodes(), 1);
    assert!(tree.arena.capacity() <= 8);
}

#[test]
fn a_value_is_changed_in_place() {
    let mut tree = TopicTree::<u32>::with_seed(7);
    *tree.entry(&filter("a/+")) += 1;
    *tree.entry(&filter("a/+")) += 1;
    *tree.get_mut(&filter("a/+")).unwrap() += 1;
    assert_eq!(tree.get(&filter("a/+")), Some(&3));
    assert_eq!(tree.get_mut(&filter("a")), None);
    assert_eq!(tree.len(), 1);
}

#[test]
fn the_deepest_topic_is_matched_without_recursion() {
    let deep: String = core::iter::repeat_n("+", 32_768).collect::<Vec<_>>().join("/");
    let tree = tree_of(&[&deep]);
    assert_eq!(matches(&tree, &deep.replace('+', "x")).len(), 1);
    assert_eq!(matches(&tree, &"/".repeat(32_767)).len(), 1);
    assert_eq!(matches(&tree, &"/".repeat(32_766)).len(), 0);
}

/// The hot path's data fits a cache line as long as the value is a pointer and a length.
#[test]
fn a_node_with_a_vector_takes_a_cache_line() {
    assert!(size_of::<crate::node_arena::Node<Branch<Vec<u8>>>>() <= 64);
}

proptest! {
    #[test]
    fn the_tree_agrees_with_the_naive_matcher(
        filters in proptest::collection::vec(naive::filter(), 0..40),
        gone in proptest::collection::vec(any::<bool>(), 40),
        topics in proptest::collection::vec(naive::name(), 1..20),
        seed: u64,
    ) {
        let mut tree = TopicTree::with_seed(seed);
        let mut expected: Vec<String> = filters.clone();
        expected.sort();
        expected.dedup();
        for text in &filters {
            *tree.entry(&filter(text)) = text.clone();
        }
        for (text, _) in filters.iter().zip(&gone).filter(|(_, gone)| **gone) {
            tree.remove_if(&filter(text), |_| true);
            expected.retain(|kept| kept != text);
        }
        prop_assert_eq!(tree.len(), expected.len());
        for topic in &topics {
            let matching: Vec<String> = expected.iter().filter(|text| naive::matches(text, topic)).cloned().collect();
            prop_assert_eq!(matches(&tree, topic), matching, "{}", topic);
        }
        expected.iter().for_each(|text| { tree.remove_if(&filter(text), |_| true); });
        prop_assert_eq!(tree.nodes(), 1);
    }
}
