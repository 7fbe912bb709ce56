//! Findings that say the same of several rails, told once.

use super::super::RailRow;
use crate::rules::{Finding, Severity};

/// A finding, and those that say the same of other rails, up to their names and figures.
pub(in crate::report) struct Told<'a> {
    /// The one that is told.
    pub first: &'a Finding,
    /// The devices of the others.
    pub others: Vec<&'a str>,
}

/// What findings must have in common to be told once.
#[derive(PartialEq)]
struct Kind<'a>(&'a str, Severity, String, String);

/// The findings in their order, those that are alike at the place of the first.
pub(in crate::report) fn told<'a>(findings: &'a [Finding], rails: &[RailRow]) -> Vec<Told<'a>> {
    let mut told: Vec<(Option<Kind<'_>>, Told<'a>)> = Vec::new();
    for finding in findings {
        let kind = kind(finding, rails);
        let known = told.iter_mut().find(|(known, _)| known.is_some() && *known == kind);
        match (known, finding.devices.as_slice()) {
            (Some((_, known)), [device]) => known.others.push(device),
            _ => told.push((kind, Told { first: finding, others: Vec::new() })),
        }
    }
    told.into_iter().map(|(_, told)| told).collect()
}

/// `None` of a finding that is about no single rail.
fn kind<'a>(finding: &'a Finding, rails: &[RailRow]) -> Option<Kind<'a>> {
    let [device] = finding.devices.as_slice() else { return None };
    // a port is named by its number too, which is no figure
    let mut of_device = rails.iter().filter(|rail| rail.device == *device);
    let rail = of_device.next().filter(|_| of_device.next().is_none())?;
    let mut names = vec![device.as_str()];
    names.extend(rail.netdev.as_deref());
    names.extend(rail.bond.iter().flat_map(|bond| &bond.legs).map(|leg| leg.netdev.as_str()));
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
            .map(|told| format!("{} +{}", told.first.devices.join(","), told.others.join(",")))
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
