//! How findings put lists and numbers into words.

use probes::model::Rail;

/// `mlx5_2`, `mlx5_2 and mlx5_3`, `mlx5_2, mlx5_3 and mlx5_4`.
pub(super) fn list(words: impl IntoIterator<Item = impl Into<String>>) -> String {
    let mut words: Vec<String> = words.into_iter().map(Into::into).collect();
    match words.pop() {
        None => String::new(),
        Some(last) if words.is_empty() => last,
        Some(last) => format!("{} and {last}", words.join(", ")),
    }
}

/// Words in the order in which they first come, each once.
pub(super) fn each_once<T: PartialEq>(words: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut once = Vec::new();
    for word in words {
        if !once.contains(&word) {
            once.push(word);
        }
    }
    once
}

/// Device names in order, each once, for what concerns the whole card (its link, node, firmware, users): a device with two
/// ports is two rails.
pub(super) fn devices<'a>(rails: impl IntoIterator<Item = &'a Rail>) -> Vec<&'a str> {
    each_once(rails.into_iter().map(|rail| rail.device.as_str()))
}

/// What a sentence calls a rail, for what concerns its port (rate, counters, addresses, legs): `mlx5_0`; where the device
/// has several ports among all rails, with its port: `mlx4_0 port 2`.
pub(crate) fn called(rail: &Rail, all: &[Rail]) -> String {
    let several = all.iter().filter(|other| other.device == rail.device).count() > 1;
    if several { format!("{} port {}", rail.device, rail.port) } else { rail.device.clone() }
}

/// `mlx5_0 and mlx5_1`; ports of one device by their numbers: `mlx4_0 port 1 and mlx4_0 port 2`.
pub(super) fn ports<'a>(rails: impl IntoIterator<Item = &'a Rail>, all: &[Rail]) -> String {
    list(rails.into_iter().map(|rail| called(rail, all)))
}

/// `node 0`, `nodes 0 and 2`.
pub(super) fn nodes(nodes: &[u32]) -> String {
    let word = if nodes.len() == 1 { "node" } else { "nodes" };
    format!("{word} {}", list(nodes.iter().map(u32::to_string)))
}

/// The verb for a list of this length: `runs` for one, `run` for several.
pub(super) fn verb<'a>(count: usize, one: &'a str, several: &'a str) -> &'a str {
    if count == 1 { one } else { several }
}

/// Three digits are enough for evidence; more is noise that moves from run to run.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// A rate for a message; small ones keep their first digits.
pub(crate) fn rate(gb_per_s: f64) -> String {
    if gb_per_s >= 0.1 || gb_per_s == 0.0 { format!("{gb_per_s:.1}") } else { format!("{gb_per_s:.4}") }
}

/// `mlx5_0 reads 24.5 GB/s`; several: `mlx5_0 and mlx5_1 read 24.4 to 24.6 GB/s each, 49.0 together`.
pub(super) fn rates_of(rates: &[(impl AsRef<str>, f64)], moves: &str) -> String {
    let names = list(rates.iter().map(|(name, _)| name.as_ref()));
    let each = span(rates.iter().map(|(_, gb)| *gb));
    if rates.len() == 1 {
        return format!("{names} {moves} {each} GB/s");
    }
    let sum: f64 = rates.iter().map(|(_, gb)| gb).sum();
    format!("{names} {moves} {each} GB/s each, {} together", rate(sum))
}

/// `48.2`, or `48.2 to 48.9` where the rates differ.
pub(super) fn span(rates: impl Iterator<Item = f64> + Clone) -> String {
    let least = rate(rates.clone().fold(f64::INFINITY, f64::min));
    let most = rate(rates.fold(0.0, f64::max));
    if least == most { least } else { format!("{least} to {most}") }
}

/// How many packets there are to one such event; `None` where there were more events than packets.
pub(super) fn one_in(share: f64) -> Option<String> {
    let packets = (1.0 / share).round();
    (packets.is_finite() && packets >= 1.0).then(|| format!("1 in {packets:.0} packets"))
}

#[cfg(test)]
mod tests {
    use super::{devices, list, nodes, one_in, ports, rates_of, span};
    use crate::rules::testing::rail;
    use probes::model::Rail;

    #[test]
    fn ports_of_one_device_are_told_apart_and_the_device_is_named_once() {
        let rails = [rail("mlx4_0"), Rail { port: 2, ..rail("mlx4_0") }, rail("mlx5_0")];
        assert_eq!(ports(&rails, &rails), "mlx4_0 port 1, mlx4_0 port 2 and mlx5_0");
        assert_eq!(ports([&rails[1]], &rails), "mlx4_0 port 2", "also where the other is not meant");
        assert_eq!(devices(&rails), ["mlx4_0", "mlx5_0"]);
    }

    #[test]
    fn rates_that_are_alike_are_said_once_and_summed() {
        assert_eq!(rates_of(&[("a", 24.5)], "reads"), "a reads 24.5 GB/s");
        assert_eq!(
            rates_of(&[("a", 24.5), ("b", 24.51)], "read"),
            "a and b read 24.5 GB/s each, 49.0 together"
        );
        assert_eq!(
            rates_of(&[("a", 10.0), ("b", 24.5)], "read"),
            "a and b read 10.0 to 24.5 GB/s each, 34.5 together"
        );
        assert_eq!(span([24.5, 24.52].into_iter()), "24.5");
        assert_eq!(span([24.5, 23.0].into_iter()), "23.0 to 24.5");
        assert_eq!((one_in(1e-3).unwrap().as_str(), one_in(3.0)), ("1 in 1000 packets", None));
    }

    #[test]
    fn lists_read_like_a_sentence() {
        assert_eq!(list(["a"]), "a");
        assert_eq!(list(["a", "b", "c"]), "a, b and c");
        assert_eq!(nodes(&[0]), "node 0");
        assert_eq!(nodes(&[0, 2]), "nodes 0 and 2");
    }
}
