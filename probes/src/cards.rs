//! Names of network cards and GPUs by their PCI ids.

/// What a card is called, where its id is known: `ConnectX-7` for `15b3:1021`.
///
/// Source: pci.ids (<https://pci-ids.ucw.cz>), vendors 15b3, 14e4, 8086, 1d0f, 1077, 10de and 1002.
#[must_use]
pub fn model(vendor: &str, device: &str) -> Option<&'static str> {
    let (_, _, name) = MODELS.iter().find(|(v, d, _)| *v == vendor && *d == device)?;
    Some(name)
}

const MODELS: &[(&str, &str, &str)] = &[
    ("15b3", "1003", "ConnectX-3"),
    ("15b3", "1004", "ConnectX-3 VF"),
    ("15b3", "1007", "ConnectX-3 Pro"),
    ("15b3", "1011", "Connect-IB"),
    ("15b3", "1012", "Connect-IB VF"),
    ("15b3", "1013", "ConnectX-4"),
    ("15b3", "1014", "ConnectX-4 VF"),
    ("15b3", "1015", "ConnectX-4 Lx"),
    ("15b3", "1016", "ConnectX-4 Lx VF"),
    ("15b3", "1017", "ConnectX-5"),
    ("15b3", "1018", "ConnectX-5 VF"),
    ("15b3", "1019", "ConnectX-5 Ex"),
    ("15b3", "101a", "ConnectX-5 Ex VF"),
    ("15b3", "101b", "ConnectX-6"),
    ("15b3", "101c", "ConnectX-6 VF"),
    ("15b3", "101d", "ConnectX-6 Dx"),
    ("15b3", "101e", "ConnectX family VF"),
    ("15b3", "101f", "ConnectX-6 Lx"),
    ("15b3", "1021", "ConnectX-7"),
    ("15b3", "1023", "ConnectX-8"),
    ("15b3", "a2d2", "BlueField"),
    ("15b3", "a2d6", "BlueField-2"),
    ("15b3", "a2dc", "BlueField-3"),
    ("14e4", "16d7", "BCM57414"),
    ("14e4", "16d8", "BCM57416"),
    ("14e4", "1750", "BCM57508"),
    ("14e4", "1751", "BCM57504"),
    ("14e4", "1760", "BCM57608"),
    ("8086", "1592", "E810-C"),
    ("8086", "1593", "E810-C SFP"),
    ("8086", "159b", "E810-XXV"),
    ("8086", "24f0", "Omni-Path HFI"),
    ("1d0f", "efa0", "EFA"),
    ("1d0f", "efa1", "EFA"),
    ("1d0f", "efa2", "EFA"),
    ("1077", "7322", "IBA7322 QDR InfiniBand"),
    ("10de", "1db1", "V100 SXM2 16GB"),
    ("10de", "1db5", "V100 SXM2 32GB"),
    ("10de", "20b0", "A100 SXM4 40GB"),
    ("10de", "20b2", "A100 SXM4 80GB"),
    ("10de", "20b5", "A100 PCIe 80GB"),
    ("10de", "2330", "H100 SXM5"),
    ("10de", "2331", "H100 PCIe"),
    ("10de", "2329", "H20"),
    ("10de", "2335", "H200 SXM"),
    ("1002", "740c", "Instinct MI250X"),
    ("1002", "740f", "Instinct MI210"),
    ("1002", "74a1", "Instinct MI300X"),
];

#[cfg(test)]
mod tests {
    use super::{MODELS, model};

    #[test]
    fn a_card_is_known_by_both_ids_and_no_id_is_listed_twice() {
        assert_eq!(model("15b3", "1021"), Some("ConnectX-7"));
        assert_eq!(model("8086", "1021"), None);
        for (at, (vendor, device, _)) in MODELS.iter().enumerate() {
            assert!(!MODELS[..at].iter().any(|(v, d, _)| v == vendor && d == device), "{vendor}:{device}");
        }
    }
}
