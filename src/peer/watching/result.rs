//! What a client's load has moved, in one phrase, as far as it can be believed.

use super::Watching;

/// The fastest wire that there is, 800 Gb/s.
const MOST_WIRE_GB_PER_S: f64 = 100.0;

impl Watching<'_> {
    /// Whether so much can have moved over our rails since the load began: several times what their wires carry is
    /// left for clocks that differ and for a loopback, which no wire holds back.
    fn is_plausible(&self, gb: f64) -> bool {
        let seconds = self.start.elapsed().as_secs_f64().max(1.0);
        let rails = self.party.plan.lines.len() as f64;
        gb <= 8.0 * MOST_WIRE_GB_PER_S * rails * seconds
    }

    /// What the load has moved, in one phrase.
    pub(super) fn result(&self) -> String {
        let (progress, rails) = (&self.so_far, self.party.plan.lines.len());
        let gb = progress.bytes as f64 / 1e9;
        let rate = if progress.seconds > 0.0 { gb / progress.seconds } else { 0.0 };
        if progress.bytes > 0 && !self.is_plausible(gb) {
            return format!(
                "what it says of its load is implausible: more than its {rails} rails can have moved in {:.1} s",
                self.start.elapsed().as_secs_f64()
            );
        }
        let back = if self.party.is_bidirectional() {
            let ours = self.party.progress(0.0).bytes as f64 / 1e9;
            format!("; {ours:.3} GB the other way")
        } else {
            String::new()
        };
        format!(
            "{gb:.3} GB in {:.1} s over {} of {rails} rails, {rate:.3} GB/s with warm-up{back}",
            progress.seconds,
            progress.rails.min(rails),
        )
    }
}
