//! The views of the screen, in the order of their tabs.

use std::fmt;
use std::str::FromStr;

/// One view of the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum View {
    /// Every rail as a bar, and what was found.
    #[default]
    Home,
    /// The machine drawn: nodes, PCIe, rails and GPUs.
    Topology,
    /// One rail in full.
    Rail,
    /// Who uses the rails, and where that runs.
    Placement,
    /// The load: parameters, threads, latency, cost.
    Load,
    /// A diagnosis: its experiments, and the causes of slow rails.
    Experiments,
}

impl View {
    /// Every view, in the order of the tabs.
    pub const ALL: [Self; 6] =
        [Self::Home, Self::Topology, Self::Rail, Self::Placement, Self::Load, Self::Experiments];

    /// As its tab and the command line call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Home => "Home",
            Self::Topology => "Topology",
            Self::Rail => "Rail",
            Self::Placement => "Placement",
            Self::Load => "Load",
            Self::Experiments => "Experiments",
        }
    }

    /// Its place among the tabs, from 0.
    #[must_use]
    pub fn place(self) -> usize {
        Self::ALL.iter().position(|view| *view == self).unwrap_or(0)
    }

    /// The tab to the right; after the last comes the first.
    #[must_use]
    pub fn next(self) -> Self {
        Self::ALL[(self.place() + 1) % Self::ALL.len()]
    }

    /// The tab to the left.
    #[must_use]
    pub fn previous(self) -> Self {
        Self::ALL[(self.place() + Self::ALL.len() - 1) % Self::ALL.len()]
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name().to_ascii_lowercase())
    }
}

impl FromStr for View {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|view| view.to_string() == text.to_ascii_lowercase()).ok_or_else(|| {
            let known: Vec<String> = Self::ALL.iter().map(ToString::to_string).collect();
            format!("`{text}` is no view; views: {}", known.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::View;

    #[test]
    fn the_tabs_go_round() {
        let mut view = View::Home;
        for _ in View::ALL {
            assert_eq!(view.next().previous(), view);
            view = view.next();
        }
        assert_eq!(view, View::Home);
    }

    #[test]
    fn a_view_is_named_as_its_tab() {
        for view in View::ALL {
            assert_eq!(view.name().parse(), Ok(view));
        }
        assert_eq!(
            "railz".parse::<View>(),
            Err("`railz` is no view; views: home, topology, rail, placement, load, experiments".to_owned())
        );
    }
}
