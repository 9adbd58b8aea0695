//! The nodes that both trees are made of: numbered, in one vector, with one hash table for all edges. A node costs
//! no allocation of its own, and the way down is a lookup a level.

use alloc::vec::Vec;
use hashbrown::HashTable;

use crate::level::{Level, edge_hash};
use crate::level_name::LevelName;

/// Numbers a node. 0 is the root, which is no node's child, so that as a child it means none.
pub(crate) type NodeId = u32;

pub(crate) const ROOT: NodeId = 0;
/// No child, no sibling.
pub(crate) const NONE: NodeId = 0;

#[derive(Clone, Debug)]
pub(crate) struct Node<T> {
    pub(crate) name: LevelName,
    /// Free nodes: the next free one.
    pub(crate) parent: NodeId,
    /// How many edges of the table start here.
    pub(crate) children: u32,
    pub(crate) content: T,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    hash: u32,
    child: NodeId,
}

/// Nodes with content `T`, the root among them from the start.
#[derive(Clone, Debug)]
pub(crate) struct NodeArena<T> {
    nodes: Vec<Node<T>>,
    edges: HashTable<Edge>,
    free: NodeId,
    /// How many nodes are in use, the root included.
    used: usize,
}

impl<T: Default> NodeArena<T> {
    pub(crate) fn new() -> NodeArena<T> {
        let root = Node { name: LevelName::EMPTY, parent: NONE, children: 0, content: T::default() };
        NodeArena { nodes: alloc::vec![root], edges: HashTable::new(), free: NONE, used: 1 }
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node<T> {
        &self.nodes[id as usize]
    }

    pub(crate) fn node_mut(&mut self, id: NodeId) -> &mut Node<T> {
        &mut self.nodes[id as usize]
    }

    pub(crate) fn used(&self) -> usize {
        self.used
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.nodes.capacity()
    }

    /// The child of that name, through the table.
    pub(crate) fn child(&self, parent: NodeId, level: &Level<'_>) -> Option<NodeId> {
        if self.node(parent).children == 0 {
            return None;
        }
        let hash = edge_hash(parent, level.hash);
        let found =
            self.edges.find(table_hash(hash), |edge| edge.hash == hash && self.is(edge.child, parent, level));
        found.map(|edge| edge.child)
    }

    /// A child that was not there, with an edge in the table.
    pub(crate) fn add_child(&mut self, parent: NodeId, level: &Level<'_>) -> NodeId {
        let child = self.add_detached(parent, level.text);
        let hash = edge_hash(parent, level.hash);
        self.edges.insert_unique(table_hash(hash), Edge { hash, child }, |edge| table_hash(edge.hash));
        self.node_mut(parent).children += 1;
        child
    }

    /// A node that knows its parent; the caller remembers how to get there.
    pub(crate) fn add_detached(&mut self, parent: NodeId, name: &str) -> NodeId {
        let node = Node { name: LevelName::new(name), parent, children: 0, content: T::default() };
        self.used += 1;
        if self.free == NONE {
            self.nodes.push(node);
            // 2^32 nodes are 200 GiB: memory ends before the numbers do.
            return (self.nodes.len() - 1) as NodeId;
        }
        let id = self.free;
        self.free = self.node(id).parent;
        *self.node_mut(id) = node;
        id
    }

    /// Takes a node of [`NodeArena::add_child`] away; it has no children.
    pub(crate) fn remove_child(&mut self, id: NodeId, level: &Level<'_>) {
        let parent = self.node(id).parent;
        let hash = edge_hash(parent, level.hash);
        if let Ok(edge) = self.edges.find_entry(table_hash(hash), |edge| edge.child == id) {
            edge.remove();
            self.node_mut(parent).children -= 1;
        }
        self.remove_detached(id);
    }

    /// Takes a node of [`NodeArena::add_detached`] away; it has no children.
    pub(crate) fn remove_detached(&mut self, id: NodeId) {
        debug_assert!(id != ROOT && self.node(id).children == 0, "only leaves are taken away");
        let free = self.free;
        *self.node_mut(id) =
            Node { name: LevelName::EMPTY, parent: free, children: 0, content: T::default() };
        self.free = id;
        self.used -= 1;
    }

    fn is(&self, id: NodeId, parent: NodeId, level: &Level<'_>) -> bool {
        let node = self.node(id);
        node.parent == parent && node.name.as_bytes() == level.text.as_bytes()
    }
}

/// The table takes places from the low bits and tags from the top seven.
fn table_hash(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}
