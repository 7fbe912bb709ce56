//! Which sets of flow labels were tried on a slow bond, and whether one more is.

use super::Seen;
use super::legs::Search;
use super::plan::Kind;
use probes::model::Rail;

/// Sets of flow labels that were tried on a rail because what it received came over one leg, and the one to try next.
pub(super) fn label_sets(rail: &Rail, seen: &[Seen]) -> std::ops::Range<u32> {
    let search = search(rail, seen);
    let next = search.as_ref().and_then(Search::next);
    let tried =
        seen.iter().filter(|seen| matches!(seen.step.kind, Kind::Labels(_)) && is_about(seen, rail)).count();
    let tried = u32::try_from(tried).unwrap_or(u32::MAX);
    1..tried.saturating_add(1 + u32::from(next.is_some()))
}

/// How far it is sought that each leg of a rail's bond receives; `None` where there is nothing to seek, or where the legs
/// already do in what was seen of the rail by itself.
pub(super) fn search(rail: &Rail, seen: &[Seen]) -> Option<Search> {
    let mut search = Search::on(rail, 0)?;
    let legs = |seen: &Seen| seen.of(&rail.device).and_then(|rail| rail.legs_gb_per_s.clone());
    let alone = seen.iter().find(|seen| seen.step.kind == Kind::Alone && is_about(seen, rail))?;
    search.saw_before(&legs(alone)?);
    if search.is_complete() {
        return None;
    }
    for seen in seen.iter().filter(|seen| is_about(seen, rail)) {
        match (&seen.step.kind, legs(seen)) {
            (Kind::Labels(set), legs) => search.saw(*set, legs.as_deref()),
            (Kind::Leg(_), Some(legs)) => search.saw_before(&legs),
            _ => {}
        }
    }
    Some(search)
}

fn is_about(seen: &Seen, rail: &Rail) -> bool {
    seen.step.rails.first().is_some_and(|first| *first == rail.device)
}
