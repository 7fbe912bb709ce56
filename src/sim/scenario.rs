//! What is wrong with which rail.

use anyhow::bail;

/// A simulated situation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Every rail reads at its line.
    Healthy,
    /// Bonds 3 and 4 are slow, each for a reason of its own.
    Mixed,
}

/// What holds a rail back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The switch sends all that this host reads through one leg of the bond.
    OneLeg,
    /// The card's link trained at half its lanes.
    HalfWidth,
}

impl Scenario {
    const ALL: [Self; 2] = [Self::Healthy, Self::Mixed];

    /// Name on the command line and in the session.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Mixed => "mixed",
        }
    }

    /// The scenario of that name.
    ///
    /// # Errors
    ///
    /// There is none; the error names those there are.
    pub fn named(name: &str) -> anyhow::Result<Self> {
        if let Some(scenario) = Self::ALL.into_iter().find(|scenario| scenario.name() == name) {
            return Ok(scenario);
        }
        let names = Self::ALL.map(Self::name).join(", ");
        bail!("no scenario `{name}`; there are: {names}")
    }

    /// What holds back the bond with this number.
    pub(super) fn fault(self, bond: u32) -> Option<Fault> {
        match (self, bond) {
            (Self::Mixed, 3) => Some(Fault::OneLeg),
            (Self::Mixed, 4) => Some(Fault::HalfWidth),
            _ => None,
        }
    }
}
