//! What serde can't see: numbers out of range, names and addresses that clash, clients let in from everywhere.

use std::collections::HashMap;
use std::net::SocketAddr;

use toml::{Table, Value};

use super::{AnonymousFrom, Configuration, Fault, QueueManager, SECTIONS, Section, Step};

/// Longest name, as operators know it from other queue managers.
const NAME_LENGTH: usize = 48;

impl Configuration {
    /// All that is wrong; nothing if it can be used.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = self.range_faults();
        if self.queue_manager.is_empty() {
            faults.push(Fault::of_value(
                vec![Step::Key("queue_manager")],
                "is empty: a server has at least one",
            ));
        }
        faults.extend(self.name_faults());
        faults.extend(self.address_faults());
        for (index, queue_manager) in self.queue_manager.iter().enumerate() {
            faults.extend(extent_fault(queue_manager, index));
            faults.extend(anonymous_faults(queue_manager, index));
        }
        faults
    }

    fn range_faults(&self) -> Vec<Fault> {
        let table = Table::try_from(self).unwrap_or_default();
        let mut faults = Vec::new();
        for section in SECTIONS {
            let names: Vec<&'static str> = section.path.split('.').filter(|name| !name.is_empty()).collect();
            each_table(&table, &names, &mut Vec::new(), &mut |table, path| {
                faults.extend(out_of_range(section, table, path));
            });
        }
        faults
    }

    fn name_faults(&self) -> Vec<Fault> {
        let mut seen = HashMap::new();
        let mut faults = Vec::new();
        for (index, QueueManager { name, .. }) in self.queue_manager.iter().enumerate() {
            let path = || [in_queue_manager(index), vec![Step::Key("name")]].concat();
            if !is_name(name) {
                faults.push(Fault::of_value(
                    path(),
                    "is not a name: 1 to 48 of A-Z a-z 0-9 . _ - %, no dot first",
                ));
            }
            // Folders are called so, and some file systems don't tell letters of two cases apart.
            if let Some(first) = seen.insert(name.to_lowercase(), index) {
                let message = format!("is {name:?}, the name of queue manager {} already", first + 1);
                faults.push(Fault::of_value(path(), message));
            }
        }
        faults
    }

    fn address_faults(&self) -> Vec<Fault> {
        let mut seen: HashMap<SocketAddr, &str> = HashMap::new();
        let mut faults = Vec::new();
        for (index, queue_manager) in self.queue_manager.iter().enumerate() {
            for (number, listener) in queue_manager.listener.iter().enumerate() {
                let taken = seen.insert(listener.address, &queue_manager.name);
                if let Some(owner) = taken.filter(|_| listener.address.port() != 0) {
                    let message = format!("is {}, where {owner} listens already", listener.address);
                    faults.push(Fault::of_value(address_path(index, number), message));
                }
            }
        }
        faults
    }
}

/// Calls back with each table that a section's path leads to; tables in arrays one by one.
fn each_table(
    table: &Table,
    names: &[&'static str],
    path: &mut Vec<Step>,
    visit: &mut impl FnMut(&Table, &[Step]),
) {
    let Some((name, rest)) = names.split_first() else { return visit(table, path) };
    path.push(Step::Key(name));
    match table.get(*name) {
        Some(Value::Table(inner)) => each_table(inner, rest, path, visit),
        Some(Value::Array(inner)) => {
            for (index, inner) in inner.iter().enumerate() {
                path.push(Step::Index(index));
                inner.as_table().iter().for_each(|inner| each_table(inner, rest, path, visit));
                path.pop();
            }
        }
        _ => {}
    }
    path.pop();
}

fn out_of_range(section: &Section, table: &Table, path: &[Step]) -> Vec<Fault> {
    let keys = section.keys.iter().filter_map(|key| Some((key, key.range.as_ref()?)));
    let wrong = keys.filter(|(key, range)| {
        table.get(key.name).and_then(Value::as_integer).is_some_and(|value| !range.contains(&value))
    });
    wrong
        .map(|(key, range)| {
            let path = [path, &[Step::Key(key.name)]].concat();
            Fault::of_value(
                path,
                format!("is out of range: {} to {} {}", range.start(), range.end(), key.unit),
            )
        })
        .collect()
}

fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-%".contains(&byte);
    (1..=NAME_LENGTH).contains(&name.len()) && name.bytes().all(allowed) && !name.starts_with('.')
}

fn extent_fault(queue_manager: &QueueManager, index: usize) -> Option<Fault> {
    let path = [in_queue_manager(index), vec![Step::Key("log"), Step::Key("extent_size")]].concat();
    (!queue_manager.log.extent_size.is_power_of_two()).then(|| Fault::of_value(path, "is not a power of two"))
}

fn anonymous_faults(queue_manager: &QueueManager, index: usize) -> Vec<Fault> {
    if queue_manager.allow_anonymous_from == AnonymousFrom::Any {
        return Vec::new();
    }
    let open = queue_manager.listener.iter().enumerate().filter(|(_, l)| !l.address.ip().is_loopback());
    open.map(|(number, listener)| {
        let message = format!(
            "is {}, which other machines reach, and clients need no password: listen on 127.0.0.1, or let everyone \
             in with allow_anonymous_from = \"any\" (--allow-anonymous-from any)",
            listener.address
        );
        Fault::of_value(address_path(index, number), message)
    })
    .collect()
}

fn in_queue_manager(index: usize) -> Vec<Step> {
    vec![Step::Key("queue_manager"), Step::Index(index)]
}

fn address_path(index: usize, number: usize) -> Vec<Step> {
    [in_queue_manager(index), vec![Step::Key("listener"), Step::Index(number), Step::Key("address")]].concat()
}
