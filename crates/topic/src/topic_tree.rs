//! Filters to values: which subscriptions does a topic reach?

use smallvec::SmallVec;

use crate::level::{Level, levels};
use crate::node_arena::{NONE, NodeArena, NodeId, ROOT};
use crate::{TopicFilter, TopicName};

/// Values by topic filter, found by the topic names that the filters match.
#[derive(Clone, Debug)]
pub struct TopicTree<V> {
    arena: NodeArena<Branch<V>>,
    seed: u64,
    len: usize,
}

/// What is at a node besides its named children, which are in the arena's table.
#[derive(Clone, Debug)]
struct Branch<V> {
    /// The child `+`.
    any: NodeId,
    /// The child `#`, which has no children.
    rest: NodeId,
    value: Option<V>,
}

impl<V> Default for Branch<V> {
    fn default() -> Branch<V> {
        Branch { any: NONE, rest: NONE, value: None }
    }
}

impl<V: Default> Default for TopicTree<V> {
    fn default() -> TopicTree<V> {
        TopicTree::with_seed(0)
    }
}

impl<V: Default> TopicTree<V> {
    /// An empty tree with a fixed seed: for tests, and where peers don't choose the filters.
    pub fn new() -> TopicTree<V> {
        TopicTree::default()
    }

    /// An empty tree whose hashes depend on the seed, so that peers can't choose filters that collide.
    pub fn with_seed(seed: u64) -> TopicTree<V> {
        TopicTree { arena: NodeArena::new(), seed, len: 0 }
    }

    /// The value of a filter, a default one if there was none.
    pub fn entry(&mut self, filter: &TopicFilter<'_>) -> &mut V {
        let mut id = ROOT;
        for level in &levels(filter.as_str(), self.seed) {
            id = self.child(id, level).unwrap_or_else(|| self.add_child(id, level));
        }
        let value = &mut self.arena.node_mut(id).content.value;
        self.len += usize::from(value.is_none());
        value.get_or_insert_default()
    }

    /// The value of this very filter.
    pub fn get(&self, filter: &TopicFilter<'_>) -> Option<&V> {
        self.arena.node(self.find(filter)?).content.value.as_ref()
    }

    /// The value of this very filter, to change it.
    pub fn get_mut(&mut self, filter: &TopicFilter<'_>) -> Option<&mut V> {
        let id = self.find(filter)?;
        self.arena.node_mut(id).content.value.as_mut()
    }

    /// Takes the filter's value out if there is one and it fulfils the condition, and every node that then leads
    /// nowhere.
    pub fn remove_if(&mut self, filter: &TopicFilter<'_>, condition: impl FnOnce(&V) -> bool) -> Option<V> {
        let id = self.find(filter)?;
        let removed = self.arena.node_mut(id).content.value.take_if(|value| condition(value))?;
        self.len -= 1;
        self.prune(id, filter);
        Some(removed)
    }

    /// Calls back with the value of each filter that matches the topic, in no particular order; each once.
    pub fn for_each_match(&self, topic: &TopicName<'_>, mut visit: impl FnMut(&V)) {
        let levels = levels(topic.as_str(), self.seed);
        // Turns not taken yet, at most one a level.
        let mut turns: SmallVec<[(NodeId, u32); 16]> = SmallVec::new();
        //= MQTT-4.7.2-1: a wildcard in the first level does not match a topic that begins with $.
        if topic.is_reserved() {
            turns.extend(self.arena.child(ROOT, &levels[0]).map(|id| (id, 1)));
        } else {
            turns.push((ROOT, 0));
        }
        while let Some((id, depth)) = turns.pop() {
            self.follow(
                id,
                &levels[depth as usize..],
                |any, taken| turns.push((any, depth + taken)),
                &mut visit,
            );
        }
    }

    /// Goes down by name; where a `+` branches off, reports it with the number of levels taken by then.
    fn follow(
        &self,
        mut id: NodeId,
        levels: &[Level<'_>],
        mut branch_off: impl FnMut(NodeId, u32),
        visit: &mut impl FnMut(&V),
    ) {
        for (level, taken) in levels.iter().zip(1..) {
            let branch = &self.arena.node(id).content;
            self.visit_rest(branch, visit);
            if branch.any != NONE {
                branch_off(branch.any, taken);
            }
            let Some(child) = self.arena.child(id, level) else { return };
            id = child;
        }
        let branch = &self.arena.node(id).content;
        self.visit_rest(branch, visit);
        branch.value.iter().for_each(visit);
    }

    /// How many filters have a value.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no filter has one.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Nodes in use, the root included: the tree's size in memory is proportional to it.
    pub fn nodes(&self) -> usize {
        self.arena.used()
    }

    /// `#` stands for the level it hangs from as well as for all below (MQTT 4.7.1.2).
    fn visit_rest(&self, branch: &Branch<V>, visit: &mut impl FnMut(&V)) {
        if branch.rest != NONE {
            self.arena.node(branch.rest).content.value.iter().for_each(visit);
        }
    }

    fn find(&self, filter: &TopicFilter<'_>) -> Option<NodeId> {
        levels(filter.as_str(), self.seed).iter().try_fold(ROOT, |id, level| self.child(id, level))
    }

    fn child(&self, parent: NodeId, level: &Level<'_>) -> Option<NodeId> {
        let branch = &self.arena.node(parent).content;
        match level.text {
            "+" => Some(branch.any).filter(|id| *id != NONE),
            "#" => Some(branch.rest).filter(|id| *id != NONE),
            _ => self.arena.child(parent, level),
        }
    }

    fn add_child(&mut self, parent: NodeId, level: &Level<'_>) -> NodeId {
        if !matches!(level.text, "+" | "#") {
            return self.arena.add_child(parent, level);
        }
        let child = self.arena.add_detached(parent, level.text);
        *self.wildcard_of(parent, level) = child;
        child
    }

    fn wildcard_of(&mut self, parent: NodeId, level: &Level<'_>) -> &mut NodeId {
        let branch = &mut self.arena.node_mut(parent).content;
        if level.text == "+" { &mut branch.any } else { &mut branch.rest }
    }

    /// From a node upwards, as long as nodes lead nowhere.
    fn prune(&mut self, mut id: NodeId, filter: &TopicFilter<'_>) {
        for level in levels(filter.as_str(), self.seed).iter().rev() {
            if self.leads_somewhere(id) {
                return;
            }
            let parent = self.arena.node(id).parent;
            if matches!(level.text, "+" | "#") {
                *self.wildcard_of(parent, level) = NONE;
                self.arena.remove_detached(id);
            } else {
                self.arena.remove_child(id, level);
            }
            id = parent;
        }
    }

    fn leads_somewhere(&self, id: NodeId) -> bool {
        let node = self.arena.node(id);
        let Branch { any, rest, value } = &node.content;
        node.children > 0 || *any != NONE || *rest != NONE || value.is_some()
    }
}

#[cfg(test)]
mod tests;
