//! What could not be learnt, alike facts together.

use crate::report::text::wrap::Wrapped;
use probes::model::Gap;
use probes::survey::order::natural;
use std::fmt::{self, Formatter};

pub(super) fn write(f: &mut Formatter<'_>, gaps: &[Gap]) -> fmt::Result {
    if gaps.is_empty() {
        return Ok(());
    }
    writeln!(f, "\nunknown: what, because")?;
    for text in grouped(gaps) {
        write!(f, "{}", Wrapped { lead: "  ", text: &text })?;
    }
    Ok(())
}

/// One line for facts that are unknown for the same reason: first those of one name on several devices,
/// then those of several names on the same devices.
fn grouped(gaps: &[Gap]) -> Vec<String> {
    struct Row<'a> {
        subjects: Vec<&'a str>,
        what: Vec<&'a str>,
        because: &'a str,
    }
    let mut by_name: Vec<Row<'_>> = Vec::new();
    for gap in gaps {
        let (what, because) = gap.reason.split_once(": ").unwrap_or(("", &gap.reason));
        match by_name.iter_mut().find(|row| row.what == [what] && row.because == because) {
            Some(row) if row.subjects.contains(&gap.subject.as_str()) => {}
            Some(row) => row.subjects.push(&gap.subject),
            None => by_name.push(Row { subjects: vec![&gap.subject], what: vec![what], because }),
        }
    }
    let mut rows: Vec<Row<'_>> = Vec::new();
    for row in by_name {
        let same = |other: &&mut Row<'_>| other.subjects == row.subjects && other.because == row.because;
        match rows.iter_mut().find(same) {
            Some(other) => other.what.extend(row.what),
            None => rows.push(row),
        }
    }
    // the host first, then device by device
    for row in &mut rows {
        row.subjects.sort_by(|a, b| natural(a, b));
    }
    let first = |row: &Row<'_>| row.subjects.first().copied().unwrap_or_default().to_owned();
    rows.sort_by(|a, b| {
        let host = |row: &Row<'_>| row.subjects != ["host"];
        host(a).cmp(&host(b)).then_with(|| natural(&first(a), &first(b)))
    });
    rows.iter()
        .map(|row| {
            let what =
                row.what.iter().filter(|what| !what.is_empty()).copied().collect::<Vec<_>>().join(", ");
            let subjects = row.subjects.join(", ");
            if what.is_empty() {
                format!("{subjects}: {}", row.because)
            } else {
                format!("{subjects}: {what}: {}", row.because)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::grouped;
    use probes::model::Gap;

    #[test]
    fn one_reason_on_several_devices_is_said_once() {
        let gap = |subject: &str, reason: &str| Gap {
            probe: "pcie".into(),
            subject: subject.into(),
            reason: reason.into(),
        };
        let gaps = [
            gap("host", "no answer"),
            gap("mlx5_0", "max_link_speed: says `Unknown`"),
            gap("mlx5_0", "max_link_width: says `Unknown`"),
            gap("mlx5_1", "max_link_speed: says `Unknown`"),
            gap("mlx5_1", "max_link_width: says `Unknown`"),
            gap("mlx5_1", "config: permission denied"),
        ];
        assert_eq!(
            grouped(&gaps),
            [
                "host: no answer",
                "mlx5_0, mlx5_1: max_link_speed, max_link_width: says `Unknown`",
                "mlx5_1: config: permission denied",
            ]
        );
    }
}
