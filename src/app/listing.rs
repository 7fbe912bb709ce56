//! Which rails and findings are listed, and in which order.

use super::filter::Filter;
use super::{App, Command};
use crate::report::alike::{self, Told};
use crate::rules::Finding;
use crate::view::{self as screen, Group, Heading};
use probes::model::RailId;

/// A rail overtakes another in the list only where it is so much ahead: values tremble.
const AHEAD: f64 = 1.1;

/// What rails are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortBy {
    /// NUMA node, and the order in which the machine names them.
    #[default]
    Name,
    /// What they move, most first.
    Rate,
    /// What they move as a share of their ceiling, least first.
    Share,
    /// Failed requests, and growth of counters that count trouble, most first.
    Errors,
}

impl SortBy {
    /// The one that the sort key goes to.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Name => Self::Rate,
            Self::Rate => Self::Share,
            Self::Share => Self::Errors,
            Self::Errors => Self::Name,
        }
    }

    /// What comes first, in words.
    #[must_use]
    pub fn word(self, is_reversed: bool) -> &'static str {
        match (self, is_reversed) {
            (Self::Name, false) => "by node and name",
            (Self::Name, true) => "by node and name, backwards",
            (Self::Rate, false) => "by rate, highest first",
            (Self::Rate, true) => "by rate, lowest first",
            (Self::Share, false) => "by share of the ceiling, lowest first",
            (Self::Share, true) => "by share of the ceiling, highest first",
            (Self::Errors, false) => "by errors, most first",
            (Self::Errors, true) => "by errors, fewest first",
        }
    }
}

/// Which rails and findings are listed, and in which order.
#[derive(Clone, Debug, Default)]
pub(super) struct Listing {
    pub filter: Filter,
    sort: SortBy,
    is_reversed: bool,
    /// Every rail in the order of the sort as it was shown last; empty by name.
    order: Vec<RailId>,
}

impl App {
    /// The rails that are listed, from the top.
    #[must_use]
    pub fn groups(&self) -> Vec<Group> {
        let Listing { sort, is_reversed, order, .. } = &self.listing;
        let topology = self.shown().topology();
        let mut groups = screen::by_node(topology);
        if *sort != SortBy::Name {
            let known = order.len() == topology.rails.len();
            let all = groups.into_iter().flat_map(|group| group.rails);
            let rails = if known { order.clone() } else { all.collect() };
            groups = vec![Group { heading: Heading::Sorted(sort.word(*is_reversed)), rails }];
        } else if *is_reversed {
            for group in &mut groups {
                group.rails.reverse();
            }
        }
        for group in &mut groups {
            group.rails.retain(|id| self.listing.filter.takes_rail(&topology.rails[id.0], &self.findings));
        }
        groups.retain(|group| !group.rails.is_empty());
        groups
    }

    /// The rail at this position of the list.
    #[must_use]
    pub fn rail_at(&self, position: usize) -> Option<RailId> {
        self.groups().into_iter().flat_map(|group| group.rails).nth(position)
    }

    /// How many rails are listed.
    #[must_use]
    pub fn listed_rails(&self) -> usize {
        self.groups().iter().map(|group| group.rails.len()).sum()
    }

    /// The findings that are listed, worst first.
    #[must_use]
    pub fn listed_findings(&self) -> Vec<&Finding> {
        self.listed_with_kinds().map(|(finding, _)| finding).collect()
    }

    /// The findings that are listed, those that say the same of several rails told once.
    #[must_use]
    pub(crate) fn told_findings(&self) -> Vec<Told<'_>> {
        alike::once(self.listed_with_kinds())
    }

    fn listed_with_kinds(&self) -> impl Iterator<Item = (&Finding, usize)> {
        let topology = self.shown().topology();
        let takes = |finding: &Finding| self.listing.filter.takes_finding(finding, topology);
        let all = self.findings.iter().zip(self.kinds.iter().copied());
        all.filter(move |(finding, _)| takes(finding))
    }

    /// Whether a user of this rail is listed: for its name, or for the rail's.
    #[must_use]
    pub fn lists_user(&self, who: &str, device: &str) -> bool {
        let rail = self.shown().topology().rail(device);
        let filter = &self.listing.filter;
        filter.takes_name(who) || rail.is_some_and(|(_, rail)| filter.takes_rail(rail, &self.findings))
    }

    /// What is typed to see less; empty where everything is listed.
    #[must_use]
    pub fn filter(&self) -> &str {
        self.listing.filter.text()
    }

    /// Lists only what this text takes; an empty one takes everything.
    pub(super) fn set_filter(&mut self, text: &str) {
        self.relist(|listing| listing.filter = Filter::new(text));
    }

    /// What rails are sorted by.
    pub(super) fn sorted_by(&self) -> SortBy {
        self.listing.sort
    }

    /// Sorts by the next that there is.
    pub(super) fn sort_next(&mut self) -> Command {
        self.sort_by(self.listing.sort.next())
    }

    /// Sorts by this.
    pub(super) fn sort_by(&mut self, by: SortBy) -> Command {
        self.relist(|listing| (listing.sort, listing.is_reversed, listing.order) = (by, false, Vec::new()));
        self.renew_order();
        self.say_sorted()
    }

    /// The other way round.
    pub(super) fn sort_reversed(&mut self) -> Command {
        self.relist(|listing| {
            listing.is_reversed = !listing.is_reversed;
            listing.order.reverse();
        });
        self.say_sorted()
    }

    fn say_sorted(&mut self) -> Command {
        self.say(&format!("rails {}", self.listing.sort.word(self.listing.is_reversed)))
    }

    /// Brings the order up to date: what is well ahead overtakes, the rest stays where it is.
    pub(super) fn renew_order(&mut self) {
        let sort = self.listing.sort;
        if sort == SortBy::Name {
            return;
        }
        let timeline = self.shown();
        let value = |id: RailId| screen::sort_value(timeline, id, sort);
        let values: Vec<Option<f64>> = timeline.topology().rails_with_id().map(|(id, _)| value(id)).collect();
        let is_rising = (sort == SortBy::Share) != self.listing.is_reversed;
        let old = &self.listing.order;
        let order = if old.len() == values.len() {
            overtaken(old.clone(), &values, is_rising)
        } else {
            let all = screen::by_node(timeline.topology()).into_iter().flat_map(|group| group.rails);
            sorted(all.collect(), &values, is_rising)
        };
        if order != *old {
            self.relist(|listing| listing.order = order);
        }
    }

    /// Changes what is listed; the selected rail and finding stay selected where they still are listed.
    fn relist(&mut self, change: impl FnOnce(&mut Listing)) {
        let rail = self.selection.rail.and_then(|at| self.rail_at(at));
        let finding = self.selected_finding().cloned();
        change(&mut self.listing);
        self.selection.rail = rail.and_then(|id| self.position_of(id));
        self.select_finding_like(finding.as_ref());
    }

    pub(super) fn position_of(&self, rail: RailId) -> Option<usize> {
        self.groups().into_iter().flat_map(|group| group.rails).position(|id| id == rail)
    }

    pub(super) fn selected_finding(&self) -> Option<&Finding> {
        self.told_findings().get(self.selection.finding?).map(|told| told.first)
    }

    /// Selects the finding that says the same as this one, or, where there is none any more, the last.
    pub(super) fn select_finding_like(&mut self, old: Option<&Finding>) {
        // among those that are told once, another may have come to be the first
        let is_about = |new: &Told, old: &Finding| {
            let ports = new.findings().flat_map(|finding| &finding.ports);
            new.devices().eq(old.devices.iter().map(String::as_str)) && ports.eq(&old.ports)
        };
        let is_with =
            |new: &Told, old: &Finding| old.devices.iter().all(|device| new.devices().any(|of| of == device));
        let told = self.told_findings();
        let place = |old: &Finding| {
            let like = |is: &dyn Fn(&Told, &Finding) -> bool| {
                told.iter().position(|new| new.first.code == old.code && is(new, old))
            };
            like(&is_about).or_else(|| like(&is_with)).or(told.len().checked_sub(1))
        };
        self.selection.finding = old.and_then(place);
    }
}

/// Whether a value stands before another; what is not known stands last.
fn is_before(one: Option<f64>, other: Option<f64>, is_rising: bool, ahead: f64) -> bool {
    match (one, other) {
        (Some(one), Some(other)) if is_rising => one * ahead < other,
        (Some(one), Some(other)) => one > other * ahead,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

fn sorted(mut rails: Vec<RailId>, values: &[Option<f64>], is_rising: bool) -> Vec<RailId> {
    rails.sort_by(|a, b| match (values[a.0], values[b.0]) {
        (Some(a), Some(b)) if is_rising => a.total_cmp(&b),
        (Some(a), Some(b)) => b.total_cmp(&a),
        (a, b) => a.is_none().cmp(&b.is_none()),
    });
    rails
}

/// Neighbours change places where the lower one is well ahead, until none does: each change lessens the disorder.
fn overtaken(mut rails: Vec<RailId>, values: &[Option<f64>], is_rising: bool) -> Vec<RailId> {
    for end in (1..rails.len()).rev() {
        for at in 0..end {
            let (upper, lower) = (values[rails[at].0], values[rails[at + 1].0]);
            if is_before(lower, upper, is_rising, AHEAD) {
                rails.swap(at, at + 1);
            }
        }
    }
    rails
}

#[cfg(test)]
mod tests {
    use super::{overtaken, sorted};
    use probes::model::RailId;

    fn ids(order: &[usize]) -> Vec<RailId> {
        order.iter().copied().map(RailId).collect()
    }

    #[test]
    fn a_list_does_not_jump_while_values_tremble() {
        let order = sorted(ids(&[0, 1, 2, 3]), &[Some(48.0), Some(24.0), None, Some(47.9)], false);
        assert_eq!(order, ids(&[0, 3, 1, 2]), "what is not known comes last");
        let trembling = [Some(47.0), Some(24.5), None, Some(48.5)];
        assert_eq!(overtaken(order.clone(), &trembling, false), order);
        let recovered = [Some(24.0), Some(48.0), None, Some(48.5)];
        assert_eq!(overtaken(order, &recovered, false), ids(&[3, 1, 0, 2]));
    }

    #[test]
    fn the_least_share_comes_first_where_that_is_asked_for() {
        let shares = [Some(0.99), Some(0.5), None, Some(0.98)];
        assert_eq!(sorted(ids(&[0, 1, 2, 3]), &shares, true), ids(&[1, 3, 0, 2]));
        assert_eq!(overtaken(ids(&[0, 1, 2, 3]), &shares, true), ids(&[1, 0, 3, 2]));
    }
}
