//! Findings that say the same of several rails, told once: in the report and on the screen.

use super::super::RailRow;
use crate::rules::{Finding, Severity};
use crate::timeline::{HostTimeline, Timeline};
use probes::model::{Bond, Rail, Topology};

/// A finding, and those that say the same of other rails, up to their names and figures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told<'a> {
    /// The one that is told.
    pub first: &'a Finding,
    /// The others, each of one device.
    pub others: Vec<&'a Finding>,
}

impl<'a> Told<'a> {
    /// A finding that is told by itself.
    pub fn alone(first: &'a Finding) -> Self {
        Self { first, others: Vec::new() }
    }

    /// Every finding that it stands for, the one that is told first.
    pub fn findings(&self) -> impl Iterator<Item = &'a Finding> {
        [self.first].into_iter().chain(self.others.iter().copied())
    }

    /// Every device that it is about, in the same order.
    pub fn devices(&self) -> impl Iterator<Item = &'a str> {
        self.findings().flat_map(|finding| finding.devices.iter().map(String::as_str))
    }

    /// Whether one of them speaks of this rail.
    pub fn is_about(&self, rail: &Rail) -> bool {
        self.findings().any(|finding| finding.is_about(rail))
    }

    /// How many rails it is told of in place of one: `(8 rails)`; `None` where it is told of its own.
    pub fn count_in_words(&self) -> Option<String> {
        (!self.others.is_empty()).then(|| format!("({} rails)", self.devices().count()))
    }

    /// Of which others the same holds, in words; `None` where it is told of its own.
    pub fn others_in_words(&self) -> Option<String> {
        let others: Vec<&str> =
            (!self.others.is_empty()).then(|| self.devices().skip(self.first.devices.len()).collect())?;
        Some(format!("the same of {}, but for figures and netdevs", others.join(", ")))
    }
}

/// What findings must have in common to be told once.
#[derive(PartialEq)]
struct Kind<'a>(&'a str, Severity, String, String);

/// The findings in their order, those that are alike at the place of the first.
pub(in crate::report) fn told<'a>(findings: &'a [Finding], rails: &[RailRow]) -> Vec<Told<'a>> {
    let names = |device: &str| {
        // a port is named by its number too, which is no figure
        let rail = single(rails.iter().filter(|rail| rail.device == device))?;
        let legs = rail.bond.iter().flat_map(|bond| &bond.legs).map(|leg| leg.netdev.as_str());
        Some(rail.netdev.as_deref().into_iter().chain(legs).collect())
    };
    let kinds = kinds(findings, names);
    once(findings.iter().zip(kinds))
}

/// For each finding, the place of the first that says the same, of what a session shows.
pub(crate) fn kinds_in(findings: &[Finding], timeline: &Timeline) -> Vec<usize> {
    let there = timeline.peer().map(HostTimeline::topology);
    // as `How::judge` names what is the peer's
    let host = there.and_then(|there| there.host.hostname.as_deref()).unwrap_or("peer");
    kinds(findings, |device| {
        let of_peer = || names(there?, device.strip_prefix(host)?.strip_prefix(':')?);
        names(timeline.topology(), device).or_else(of_peer)
    })
}

/// The netdevs of a device, and its own name; `None` where it is none of the machine's, or several of its ports.
fn names<'a>(topology: &'a Topology, device: &str) -> Option<Vec<&'a str>> {
    let rail: &Rail = single(topology.rails.iter().filter(|rail| rail.device == device))?;
    let bond: Option<&Bond> = rail.bond.as_ref();
    let legs = bond.into_iter().flat_map(|bond| &bond.legs).map(|leg| leg.netdev.as_str());
    Some([rail.device.as_str()].into_iter().chain(rail.netdev.as_deref()).chain(legs).collect())
}

fn single<T>(mut some: impl Iterator<Item = T>) -> Option<T> {
    some.next().filter(|_| some.next().is_none())
}

/// Findings in their order with their kinds, those of one kind at the place of the first of them.
pub(crate) fn once<'a>(findings: impl Iterator<Item = (&'a Finding, usize)>) -> Vec<Told<'a>> {
    let mut told: Vec<(usize, Told<'a>)> = Vec::new();
    for (finding, kind) in findings {
        let known = told.iter_mut().find(|(known, _)| *known == kind);
        match known {
            Some((_, known)) if finding.devices.len() == 1 => known.others.push(finding),
            _ => told.push((kind, Told::alone(finding))),
        }
    }
    told.into_iter().map(|(_, told)| told).collect()
}

/// For each finding, the place of the first that says the same; its own of one that is about no single rail.
///
/// `names` are the netdevs of a device.
fn kinds<'a>(findings: &'a [Finding], names: impl Fn(&str) -> Option<Vec<&'a str>>) -> Vec<usize> {
    let kinds: Vec<_> = findings.iter().map(|finding| kind(finding, &names)).collect();
    let first = |at: usize| kinds.iter().position(|kind| kind.is_some() && *kind == kinds[at]).unwrap_or(at);
    (0..kinds.len()).map(first).collect()
}

/// `None` of a finding that is about no single rail.
fn kind<'a, 'b>(finding: &'a Finding, names: impl Fn(&str) -> Option<Vec<&'b str>>) -> Option<Kind<'a>> {
    let [device] = finding.devices.as_slice() else { return None };
    let netdevs = names(device)?;
    let names: Vec<&str> = [device.as_str()].into_iter().chain(netdevs).collect();
    let shape = |text: &str| text.split(' ').map(|word| shape_of(word, &names)).collect::<Vec<_>>().join(" ");
    Some(Kind(&finding.code, finding.severity, shape(&finding.message), shape(&finding.advice)))
}

/// The word with a star for one of the names, and `#` for a figure.
fn shape_of(word: &str, names: &[&str]) -> String {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
    let figure = bare.trim_end_matches("/s").trim_end_matches(['s', 'M', 'K']);
    match bare {
        "" => word.to_owned(),
        name if names.contains(&name) => word.replace(name, "*"),
        _ if figure.parse::<f64>().is_ok() => word.replace(bare, "#"),
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::told;
    use crate::report::build;
    use crate::rules::testing::{Traffic, rail, timeline, two_sockets};
    use crate::rules::{Finding, Limits, Severity};
    use probes::model::Rail;

    fn told_of(findings: &[Finding]) -> Vec<String> {
        let rails =
            ["mlx5_0", "mlx5_1"].map(|device| Rail { netdev: Some(format!("net_{device}")), ..rail(device) });
        let timeline = timeline(two_sockets(rails.into()), &Traffic::default());
        let report = build(&timeline, &Limits::default(), &[]);
        let told = told(findings, &report.rails);
        told.iter()
            .map(|told| {
                let others: Vec<&str> = told.devices().skip(told.first.devices.len()).collect();
                format!("{} +{}", told.first.devices.join(","), others.join(","))
            })
            .collect()
    }

    fn pauses(device: &str, count: u64) -> Finding {
        let message = format!("{device}: this host cannot take what arrives: tx_pause +{count} ({count}/s)");
        Finding::new("tx-pause", Severity::Warning, [device], message)
            .advise(format!("look here; `ethtool -S net_{device} | grep pause`"))
    }

    #[test]
    fn what_differs_in_names_and_figures_alone_is_told_once() {
        assert_eq!(told_of(&[pauses("mlx5_0", 5), pauses("mlx5_1", 7)]), ["mlx5_0 +mlx5_1"]);
    }

    #[test]
    fn another_counter_an_address_or_several_rails_are_told_apart() {
        let other =
            Finding { message: "mlx5_1: something else: tx_pause +7 (7/s)".into(), ..pauses("mlx5_1", 7) };
        assert_eq!(told_of(&[pauses("mlx5_0", 5), other]), ["mlx5_0 +", "mlx5_1 +"]);
        let at = |device: &str, address: &str| {
            Finding::new(
                "pcie-downgraded",
                Severity::Warning,
                [device],
                format!("{device}: x8 of x16 at {address}"),
            )
        };
        assert_eq!(told_of(&[at("mlx5_0", "0000:41:00.0"), at("mlx5_1", "0000:81:00.0")]).len(), 2);
        let both = Finding::new("mtu", Severity::Info, ["mlx5_0", "mlx5_1"], "mlx5_0 and mlx5_1: 1024");
        assert_eq!(told_of(&[both.clone(), both]).len(), 2);
    }
}
