//! Which legs of a bond were seen to receive, before a load, with one set of flow labels after the other.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How it was sought on one rail that each leg of its bond receives.
///
/// The leg on which data arrive is the choice of the last switch, which hashes addresses, UDP ports and perhaps queue
/// pair numbers. So queue pairs were opened anew, with other numbers and flow labels, until each leg had received.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LegsSought {
    /// RDMA device.
    pub device: String,
    /// Sets of queue pairs that were tried.
    pub tries: u32,
    /// The set of flow labels that the load has; `None` where the driver chose them.
    pub labels: Option<u32>,
    /// Legs that received.
    pub heard: Vec<String>,
    /// Legs that received nothing in any of the tries.
    pub silent: Vec<String>,
    /// Why it cannot be told which legs receive; `None` where it can.
    pub gap: Option<String>,
}

impl LegsSought {
    /// Why nothing can be said of the legs that were not seen to receive; `None` where each was.
    #[must_use]
    pub fn unseen(&self) -> Option<String> {
        if let Some(gap) = &self.gap {
            return Some(gap.clone());
        }
        let Self { tries, heard, silent, .. } = self;
        let times = if *tries == 1 { "try" } else { "tries" };
        (!silent.is_empty()).then(|| {
            format!(
                "in {tries} {times} with other queue pair numbers and flow labels everything arrived on {}, nothing on {}: \
                 the hash of the switch did not vary",
                heard.join(" and "),
                silent.join(" and ")
            )
        })
    }

    /// Whether it is worth saying: something was not seen at the first try.
    #[must_use]
    pub fn is_notable(&self) -> bool {
        self.tries > 1 || self.unseen().is_some()
    }
}

impl fmt::Display for LegsSought {
    /// `mlx5_bond_0: both legs receive, seen in try 3 with other queue pair numbers and flow labels`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, tries, .. } = self;
        match self.unseen() {
            Some(why) => {
                write!(f, "{device}: whether each leg receives is not measurable here, because {why}")
            }
            None if *tries == 1 => write!(f, "{device}: each leg of its bond receives"),
            None => write!(
                f,
                "{device}: each leg of its bond receives, as try {tries} showed with other queue pair numbers and flow labels"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LegsSought;

    #[test]
    fn legs_that_were_never_seen_are_not_said_to_be_broken() {
        let legs = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let sought = LegsSought {
            device: "mlx5_0".into(),
            tries: 8,
            heard: legs(&["eth0"]),
            silent: legs(&["eth1"]),
            ..LegsSought::default()
        };
        assert_eq!(
            sought.to_string(),
            "mlx5_0: whether each leg receives is not measurable here, because in 8 tries with other queue pair numbers \
             and flow labels everything arrived on eth0, nothing on eth1: the hash of the switch did not vary"
        );
        let both = LegsSought { tries: 3, silent: Vec::new(), ..sought };
        assert_eq!(
            both.to_string(),
            "mlx5_0: each leg of its bond receives, as try 3 showed with other queue pair numbers and flow labels"
        );
    }
}
