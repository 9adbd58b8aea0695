//! What is accepted, what is refused, and in which words.

use super::*;
use std::path::Path;

fn read(text: &str) -> Result<Configuration, String> {
    Configuration::from_text(Path::new("f.toml"), text, |_| {}).map_err(|faults| faults.to_string())
}

fn fault(text: &str) -> String {
    read(text).unwrap_err()
}

#[test]
fn without_a_file_one_durable_queue_manager_listens_on_loopback() {
    let configuration = Configuration::load(None, |_| {}).unwrap();
    let [queue_manager] = &configuration.queue_manager[..] else { panic!("one queue manager") };
    assert_eq!(configuration.data_dir, Path::new("data"));
    assert_eq!(queue_manager.name, "QM1");
    assert_eq!(queue_manager.durability, Durability::Fsync);
    assert_eq!(queue_manager.listener, [Listener::default()]);
    assert_eq!(queue_manager.listener[0].address.to_string(), "127.0.0.1:1883");
    assert_eq!(queue_manager.limits.to_core(), ferrymq_engine::Limits::default());
}

#[test]
fn an_empty_file_is_the_same_as_none() {
    assert_eq!(read(""), Ok(Configuration::default()));
}

#[test]
fn what_is_shown_can_be_read_back() {
    let shown = toml::to_string(&Configuration::default()).unwrap();
    assert_eq!(read(&shown), Ok(Configuration::default()));
}

#[test]
fn a_file_sets_what_it_names_and_leaves_the_rest() {
    let text = "[[queue_manager]]\nname = 'A'\ndurability = 'memory'\n[queue_manager.mqtt]\nmaximum_qos = 1\n\
                [[queue_manager.listener]]\naddress = '[::1]:1884'\n[[queue_manager]]\nname = 'B'\n";
    let configuration = read(text).unwrap();
    assert_eq!(configuration.queue_manager.len(), 2);
    assert_eq!(configuration.queue_manager[0].mqtt, Mqtt { maximum_qos: 1, ..Mqtt::default() });
    assert_eq!(configuration.queue_manager[0].listener[0].address.port(), 1884);
    assert_eq!(configuration.queue_manager[1].durability, Durability::Fsync);
}

#[test]
fn an_unknown_key_is_named_with_its_line() {
    let fault = fault("\n[limits]\nconections = 5\n");
    assert!(fault.starts_with("f.toml, line 3: conections: unknown field `conections`, expected"), "{fault}");
    assert!(fault.contains("`connections`"), "{fault}");
}

#[test]
fn a_value_of_the_wrong_kind_is_named_with_its_line() {
    let text = "[[queue_manager]]\ndurability = 'sometimes'\n";
    assert!(fault(text).starts_with("f.toml, line 2: 'sometimes': unknown variant"), "{}", fault(text));
    let text = "[[queue_manager]]\n[queue_manager.mqtt]\nreceive_maximum = 70000\n";
    assert!(fault(text).starts_with("f.toml, line 3: 70000: "), "{}", fault(text));
    let text = "[[queue_manager]]\n[[queue_manager.listener]]\naddress = 'here'\n";
    assert!(fault(text).starts_with("f.toml, line 3: 'here': "), "{}", fault(text));
}

#[test]
fn broken_toml_is_named_with_its_line() {
    let fault = fault("data_dir = 'a'\n[limits\n");
    assert!(fault.starts_with("f.toml, line 2: "), "{fault}");
}

#[test]
fn a_number_out_of_range_is_named_with_its_key() {
    let text = "[limits]\nconnections = 0\n[[queue_manager]]\n[queue_manager.mqtt]\nmaximum_qos = 3\n";
    assert_eq!(
        fault(text),
        "f.toml, line 2: 0: limits.connections is out of range: 1 to 16000000 connections\n\
         f.toml, line 5: 3: queue_manager[1].mqtt.maximum_qos is out of range: 0 to 2 QoS"
    );
}

#[test]
fn names_are_checked_and_differ() {
    for name in ["", "a/b", ".hidden", "ä", "A234567890123456789012345678901234567890123456789"] {
        let fault = fault(&format!("[[queue_manager]]\nname = '{name}'\n"));
        assert!(
            fault.starts_with(&format!("f.toml, line 2: '{name}': queue_manager[1].name is not a name")),
            "{fault}"
        );
    }
    let twice = "[[queue_manager]]\nlistener = []\n[[queue_manager]]\nname = 'qm1'\n";
    assert_eq!(
        fault(twice),
        "f.toml, line 4: 'qm1': queue_manager[2].name is \"qm1\", the name of queue manager 1 already"
    );
}

#[test]
fn two_listeners_on_one_address_are_refused() {
    let text = "[[queue_manager]]\nname = 'A'\n[[queue_manager]]\nname = 'B'\n";
    assert!(
        fault(text)
            .contains("queue_manager[2].listener[1].address is 127.0.0.1:1883, where A listens already")
    );
}

#[test]
fn any_number_of_listeners_may_take_a_free_port() {
    let listener = "[[queue_manager.listener]]\naddress = '127.0.0.1:0'\n";
    assert!(read(&format!("[[queue_manager]]\n{listener}{listener}")).is_ok());
}

#[test]
fn an_address_that_others_reach_needs_an_explicit_word() {
    let open = "[[queue_manager.listener]]\naddress = '0.0.0.0:1883'\n";
    let refused = fault(&format!("[[queue_manager]]\n{open}"));
    assert!(
        refused.starts_with("f.toml, line 3: '0.0.0.0:1883': queue_manager[1].listener[1].address is"),
        "{refused}"
    );
    assert!(refused.contains("allow_anonymous_from = \"any\""), "{refused}");
    assert!(read(&format!("[[queue_manager]]\nallow_anonymous_from = 'any'\n{open}")).is_ok());
}

#[test]
fn what_the_command_line_says_is_checked_too() {
    let open = |configuration: &mut Configuration| {
        configuration.queue_manager[0].listener[0].address = "0.0.0.0:1".parse().unwrap();
    };
    let faults = Configuration::load(None, open).unwrap_err().to_string();
    assert!(faults.starts_with("queue_manager[1].listener[1].address is 0.0.0.0:1"), "{faults}");
}

#[test]
fn an_extent_is_a_power_of_two() {
    let fault = fault("[[queue_manager]]\n[queue_manager.log]\nextent_size = 100000\n");
    assert_eq!(fault, "f.toml, line 3: 100000: queue_manager[1].log.extent_size is not a power of two");
}

#[test]
fn a_server_has_a_queue_manager() {
    assert!(fault("queue_manager = []\n").contains("queue_manager is empty"));
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let faults = Configuration::load(Some(Path::new("/nowhere/f.toml")), |_| {}).unwrap_err().to_string();
    assert!(faults.starts_with("/nowhere/f.toml: cannot be read: "), "{faults}");
}

#[test]
fn every_default_is_in_its_range_and_every_key_has_a_default() {
    for section in SECTIONS {
        let defaults = (section.defaults)();
        for key in section.keys {
            let value = defaults.get(key.name).unwrap_or_else(|| panic!("{}.{}", section.path, key.name));
            if let (Some(range), Some(value)) = (&key.range, value.as_integer()) {
                assert!(range.contains(&value), "{}.{}", section.path, key.name);
            }
        }
    }
}

#[test]
fn the_reference_document_is_up_to_date() {
    let written = include_str!("../../../../docs/reference/configuration.md");
    assert!(written == reference(), "ferrymq config reference > docs/reference/configuration.md");
}

#[test]
fn the_examples_are_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    assert!(!files.is_empty());
    for file in files {
        assert_eq!(Configuration::load(Some(&file), |_| {}).err(), None);
    }
}
