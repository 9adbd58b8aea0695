//! Topics to values: which retained messages does a filter reach?

use alloc::string::String;
use alloc::vec::Vec;

use crate::level::{Level, Levels, levels};
use crate::node_arena::{NONE, Node, NodeArena, NodeId, ROOT};
use crate::{TopicFilter, TopicName};

/// Values by topic name, found by the topic filters that match the names.
#[derive(Clone, Debug)]
pub struct RetainedTree<V> {
    arena: NodeArena<Twig<V>>,
    seed: u64,
    len: usize,
}

/// A node's place among its siblings (a doubly linked list, so that removal is immediate), and its value.
#[derive(Clone, Debug)]
struct Twig<V> {
    first_child: NodeId,
    next: NodeId,
    previous: NodeId,
    value: Option<V>,
}

impl<V> Default for Twig<V> {
    fn default() -> Twig<V> {
        Twig { first_child: NONE, next: NONE, previous: NONE, value: None }
    }
}

impl<V> Default for RetainedTree<V> {
    fn default() -> RetainedTree<V> {
        RetainedTree::with_seed(0)
    }
}

impl<V> RetainedTree<V> {
    /// An empty tree with a fixed seed: for tests, and where peers don't choose the names.
    pub fn new() -> RetainedTree<V> {
        RetainedTree::default()
    }

    /// An empty tree whose hashes depend on the seed, so that peers can't choose names that collide.
    pub fn with_seed(seed: u64) -> RetainedTree<V> {
        RetainedTree { arena: NodeArena::new(), seed, len: 0 }
    }

    /// Sets the topic's value; the one before comes back.
    pub fn insert(&mut self, topic: &TopicName<'_>, value: V) -> Option<V> {
        let mut id = ROOT;
        for level in &levels(topic.as_str(), self.seed) {
            id = self.arena.child(id, level).unwrap_or_else(|| self.add_child(id, level));
        }
        let before = self.arena.node_mut(id).content.value.replace(value);
        self.len += usize::from(before.is_none());
        before
    }

    /// Takes the topic's value out, and every node that then leads nowhere.
    pub fn remove(&mut self, topic: &TopicName<'_>) -> Option<V> {
        let id = self.find(topic)?;
        let removed = self.arena.node_mut(id).content.value.take()?;
        self.len -= 1;
        self.prune(id, topic);
        Some(removed)
    }

    /// The topic's value.
    pub fn get(&self, topic: &TopicName<'_>) -> Option<&V> {
        self.arena.node(self.find(topic)?).content.value.as_ref()
    }

    /// The topic's value, to change it.
    pub fn get_mut(&mut self, topic: &TopicName<'_>) -> Option<&mut V> {
        let id = self.find(topic)?;
        self.arena.node_mut(id).content.value.as_mut()
    }

    /// Calls back with each topic that the filter matches and its value, in no particular order; each once.
    pub fn for_each_match(&self, filter: &TopicFilter<'_>, mut visit: impl FnMut(&str, &V)) {
        let mut walk = Walk::new(self, levels(filter.as_str(), self.seed), false);
        while let Some((topic, value)) = walk.advance() {
            visit(topic, value);
        }
    }

    /// Calls back with each topic and its value, those that begin with `$` included.
    pub fn for_each(&self, mut visit: impl FnMut(&str, &V)) {
        let mut walk = Walk::new(self, levels("#", self.seed), true);
        while let Some((topic, value)) = walk.advance() {
            visit(topic, value);
        }
    }

    /// How many topics have a value.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no topic has one.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Nodes in use, the root included: the tree's size in memory is proportional to it.
    pub fn nodes(&self) -> usize {
        self.arena.used()
    }

    fn find(&self, topic: &TopicName<'_>) -> Option<NodeId> {
        levels(topic.as_str(), self.seed).iter().try_fold(ROOT, |id, level| self.arena.child(id, level))
    }

    fn add_child(&mut self, parent: NodeId, level: &Level<'_>) -> NodeId {
        let child = self.arena.add_child(parent, level);
        let next = core::mem::replace(&mut self.arena.node_mut(parent).content.first_child, child);
        self.arena.node_mut(child).content.next = next;
        if next != NONE {
            self.arena.node_mut(next).content.previous = child;
        }
        child
    }

    fn unlink(&mut self, id: NodeId) {
        let Node { parent, content: Twig { next, previous, .. }, .. } = *self.arena.node(id);
        match previous {
            NONE => self.arena.node_mut(parent).content.first_child = next,
            previous => self.arena.node_mut(previous).content.next = next,
        }
        if next != NONE {
            self.arena.node_mut(next).content.previous = previous;
        }
    }

    /// From a node upwards, as long as nodes lead nowhere.
    fn prune(&mut self, mut id: NodeId, topic: &TopicName<'_>) {
        for level in levels(topic.as_str(), self.seed).iter().rev() {
            let node = self.arena.node(id);
            if node.children > 0 || node.content.value.is_some() {
                return;
            }
            let parent = node.parent;
            self.unlink(id);
            self.arena.remove_child(id, level);
            id = parent;
        }
    }
}

/// A filter's way through the tree, depth first, with the names of the way in one buffer.
struct Walk<'t, 'f, V> {
    tree: &'t RetainedTree<V>,
    filter: Levels<'f>,
    /// Whether a wildcard in the first level takes topics that begin with `$`.
    with_reserved: bool,
    path: String,
    /// At most two a level.
    steps: Vec<Step>,
}

/// A node to go to.
#[derive(Clone, Copy)]
struct Step {
    node: NodeId,
    /// The filter's level for what is below the node.
    depth: u32,
    /// How much of the path leads to the node's parent.
    path: u32,
    /// Go to the siblings after it too.
    siblings: bool,
}

impl<'t, 'f, V> Walk<'t, 'f, V> {
    fn new(tree: &'t RetainedTree<V>, filter: Levels<'f>, with_reserved: bool) -> Walk<'t, 'f, V> {
        let mut walk = Walk { tree, filter, with_reserved, path: String::new(), steps: Vec::new() };
        walk.go_below(ROOT, 0);
        walk
    }

    /// The next topic that matches.
    fn advance(&mut self) -> Option<(&str, &'t V)> {
        while let Some(step) = self.steps.pop() {
            let node = self.tree.arena.node(step.node);
            if step.siblings && node.content.next != NONE {
                self.steps.push(Step { node: node.content.next, ..step });
            }
            if self.is_withheld(step, node) {
                continue;
            }
            self.extend_path(step, node);
            if let Some(value) = self.go_below(step.node, step.depth) {
                return Some((&self.path, value));
            }
        }
        None
    }

    /// Plans the steps below a node whose names are in the path; its own value where the filter matches it.
    fn go_below(&mut self, id: NodeId, depth: u32) -> Option<&'t V> {
        let content = &self.tree.arena.node(id).content;
        let Some(level) = self.filter.get(depth as usize).copied() else { return content.value.as_ref() };
        match level.text {
            // Stays the filter's level for all that is below, and matches the parent too (MQTT 4.7.1.2).
            "#" => {
                self.plan(content.first_child, depth, true);
                return content.value.as_ref();
            }
            "+" => self.plan(content.first_child, depth + 1, true),
            _ => self.plan(self.tree.arena.child(id, &level).unwrap_or(NONE), depth + 1, false),
        }
        None
    }

    fn plan(&mut self, node: NodeId, depth: u32, siblings: bool) {
        if node != NONE {
            self.steps.push(Step { node, depth, path: self.path.len() as u32, siblings });
        }
    }

    //= MQTT-4.7.2-1: a wildcard in the first level does not match a topic that begins with $.
    fn is_withheld(&self, step: Step, node: &Node<Twig<V>>) -> bool {
        step.siblings
            && node.parent == ROOT
            && !self.with_reserved
            && node.name.as_bytes().first() == Some(&b'$')
    }

    fn extend_path(&mut self, step: Step, node: &Node<Twig<V>>) {
        self.path.truncate(step.path as usize);
        if node.parent != ROOT {
            self.path.push('/');
        }
        self.path.push_str(node.name.as_str());
    }
}

#[cfg(test)]
mod tests;
