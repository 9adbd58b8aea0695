//! Finding topics: wildcards, siblings, pruning, and the naive matcher as oracle.

use super::*;
use crate::naive;
use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::{format, vec};
use proptest::prelude::*;

fn name(text: &str) -> TopicName<'_> {
    TopicName::parse(text).unwrap()
}

fn tree_of(topics: &[&str]) -> RetainedTree<String> {
    let mut tree = RetainedTree::new();
    for text in topics {
        tree.insert(&name(text), text.to_string());
    }
    tree
}

fn matches(tree: &RetainedTree<String>, filter: &str) -> Vec<String> {
    let mut found = vec![];
    tree.for_each_match(&TopicFilter::parse(filter).unwrap(), |topic, value| {
        assert_eq!(topic, value);
        found.push(topic.to_string());
    });
    found.sort();
    found
}

#[test]
fn a_filter_finds_its_topics_with_their_names() {
    let tree = tree_of(&["a", "a/b", "a/b/c", "a//c", "/", "b", "$SYS/a"]);
    assert_eq!(matches(&tree, "a/b"), ["a/b"]);
    assert_eq!(matches(&tree, "a/+/c"), ["a//c", "a/b/c"]);
    assert_eq!(matches(&tree, "a/#"), ["a", "a//c", "a/b", "a/b/c"]);
    assert_eq!(matches(&tree, "+/+"), ["/", "a/b"]);
    assert_eq!(matches(&tree, "#"), ["/", "a", "a//c", "a/b", "a/b/c", "b"]);
    assert_eq!(matches(&tree, "a/b/c/d/#").len(), 0);
}

#[test]
fn wildcards_in_the_first_level_leave_reserved_topics_alone() {
    let tree = tree_of(&["$SYS", "$SYS/uptime", "a"]);
    assert_eq!(matches(&tree, "#"), ["a"]);
    assert_eq!(matches(&tree, "+/uptime").len(), 0);
    assert_eq!(matches(&tree, "$SYS/#"), ["$SYS", "$SYS/uptime"]);
    assert_eq!(matches(&tree, "$SYS/+"), ["$SYS/uptime"]);
}

#[test]
fn enumeration_includes_reserved_topics() {
    let mut topics = vec![];
    tree_of(&["$SYS/uptime", "a/b"]).for_each(|topic, _| topics.push(topic.to_string()));
    topics.sort();
    assert_eq!(topics, ["$SYS/uptime", "a/b"]);
}

#[test]
fn a_value_is_replaced_and_taken_out() {
    let mut tree = RetainedTree::with_seed(3);
    assert_eq!(tree.insert(&name("a/b"), 1), None);
    assert_eq!(tree.insert(&name("a/b"), 2), Some(1));
    assert_eq!(tree.len(), 1);
    *tree.get_mut(&name("a/b")).unwrap() += 1;
    assert_eq!(tree.remove(&name("a")), None);
    assert_eq!(tree.get(&name("a/b")), Some(&3));
    assert_eq!(tree.remove(&name("a/b")), Some(3));
    assert!(tree.is_empty());
    assert_eq!(tree.nodes(), 1);
}

#[test]
fn siblings_survive_the_removal_of_any_of_them() {
    for gone in 0..5 {
        let topics: Vec<String> = (0..5).map(|n| format!("a/{n}/x")).collect();
        let mut tree = tree_of(&topics.iter().map(String::as_str).collect::<Vec<_>>());
        tree.remove(&name(&topics[gone]));
        let expected: Vec<&String> = topics.iter().filter(|topic| **topic != topics[gone]).collect();
        assert_eq!(matches(&tree, "a/+/x").iter().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn the_deepest_topic_is_found_without_recursion() {
    let deep = "/".repeat(32_767);
    let tree = tree_of(&[&deep]);
    assert_eq!(matches(&tree, "#"), [deep.as_str()]);
    assert_eq!(matches(&tree, &deep).len(), 1);
}

proptest! {
    #[test]
    fn the_tree_agrees_with_the_naive_matcher(
        topics in proptest::collection::vec(naive::name(), 0..40),
        gone in proptest::collection::vec(any::<bool>(), 40),
        filters in proptest::collection::vec(naive::filter(), 1..20),
        seed: u64,
    ) {
        let mut tree = RetainedTree::with_seed(seed);
        let mut model = BTreeMap::new();
        for text in &topics {
            prop_assert_eq!(tree.insert(&name(text), text.clone()), model.insert(text.clone(), text.clone()));
        }
        for (text, _) in topics.iter().zip(&gone).filter(|(_, gone)| **gone) {
            prop_assert_eq!(tree.remove(&name(text)), model.remove(text));
        }
        prop_assert_eq!(tree.len(), model.len());
        for filter in &filters {
            let expected: Vec<String> = model.keys().filter(|topic| naive::matches(filter, topic)).cloned().collect();
            prop_assert_eq!(matches(&tree, filter), expected, "{}", filter);
        }
        model.keys().for_each(|text| { tree.remove(&name(text)); });
        prop_assert_eq!(tree.nodes(), 1);
    }
}
