//! Sets of CPU or NUMA node numbers, as the kernel writes them: `0-3,8,10-11`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// A set of CPU (or NUMA node) numbers.
///
/// Reads and prints the kernel's list format (`0-3,8`), see cpuset(7), "Formats".
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuSet(BTreeSet<u32>);

/// Text that is no CPU list.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` is no CPU list such as 0-3,8")]
pub struct NotACpuList {
    text: String,
}

/// Above this a list is taken for noise; the largest Linux machines have a few thousand CPUs.
const MOST: u32 = 65_536;

impl CpuSet {
    /// Whether `number` is in the set.
    #[must_use]
    pub fn contains(&self, number: u32) -> bool {
        self.0.contains(&number)
    }

    /// The numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// How many numbers are in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set is empty, as the CPU list of a memory-only node is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether both sets share a number.
    #[must_use]
    pub fn intersects(&self, other: &Self) -> bool {
        !self.0.is_disjoint(&other.0)
    }

    /// Whether every number of this set is in `other`.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        Self(numbers.into_iter().collect())
    }
}

impl std::str::FromStr for CpuSet {
    type Err = NotACpuList;

    fn from_str(text: &str) -> Result<Self, NotACpuList> {
        let bad = || NotACpuList { text: text.chars().take(80).collect() };
        let mut set = BTreeSet::new();
        for part in text.trim().split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first: u32 = first.parse().map_err(|_| bad())?;
            let last: u32 = last.parse().map_err(|_| bad())?;
            if first > last || last > MOST {
                return Err(bad());
            }
            set.extend(first..=last);
        }
        Ok(Self(set))
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut numbers = self.0.iter().copied().peekable();
        let mut comma = "";
        while let Some(first) = numbers.next() {
            let mut last = first;
            while numbers.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            if first == last {
                write!(f, "{comma}{first}")?;
            } else {
                write!(f, "{comma}{first}-{last}")?;
            }
            comma = ",";
        }
        Ok(())
    }
}

impl TryFrom<String> for CpuSet {
    type Error = NotACpuList;

    fn try_from(text: String) -> Result<Self, NotACpuList> {
        text.parse()
    }
}

impl From<CpuSet> for String {
    fn from(set: CpuSet) -> Self {
        set.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::CpuSet;

    #[test]
    fn a_list_is_printed_as_the_kernel_writes_it() {
        for text in ["0-3,8,10-11", "0", "", "0-95,192-287"] {
            assert_eq!(text.parse::<CpuSet>().unwrap().to_string(), text);
        }
        assert_eq!("3,1,2\n".parse::<CpuSet>().unwrap().to_string(), "1-3");
    }

    #[test]
    fn noise_is_refused() {
        for text in ["a", "3-1", "0-4294967295", "-1", "1--2"] {
            assert!(text.parse::<CpuSet>().is_err(), "{text}");
        }
    }
}
