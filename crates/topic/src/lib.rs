//! Topic names, topic filters and the tree that matches them
