//! A plan in words.

use crate::peer::message::Plan;
use crate::settings::Size;
use probes::load::Shape;
use probes::model::LoadOp;

/// A message size with its unit: `64K`, `1 B`.
fn in_words(bytes: u64) -> String {
    let size = Size(bytes).to_string();
    if size.ends_with(|c: char| c.is_ascii_digit()) { format!("{size} B") } else { size }
}

impl Plan {
    /// What moves, in one phrase: `64K x 4 queue pairs a rail`.
    #[must_use]
    pub fn amount(&self) -> String {
        let params = &self.params;
        if params.shape == Shape::Striped {
            let threads =
                if params.workers == 1 { "1 thread".into() } else { format!("{} threads", params.workers) };
            let rails =
                if self.lines.len() == 1 { "1 rail".into() } else { format!("{} rails", self.lines.len()) };
            return format!(
                "batches of {} pages of {} striped over {rails} by {threads} with {} queue pairs a rail",
                params.batch,
                Size(params.size_bytes),
                params.qps
            );
        }
        let threads = match params.workers {
            0 | 1 => String::new(),
            workers => format!(" and {workers} threads"),
        };
        let pairs = if params.qps == 1 { "queue pair" } else { "queue pairs" };
        format!("{} x {} {pairs}{threads} a rail", in_words(params.size_bytes), params.qps)
    }

    /// What a client does with rails of ours, in one phrase: `reads 64K x 4 queue pairs a rail from mlx5_0`.
    #[must_use]
    pub fn what(&self, rails: &str) -> String {
        let amount = self.amount();
        match (self.params.op, self.params.bidirectional) {
            (LoadOp::Read, false) => format!("reads {amount} from {rails}"),
            (LoadOp::Write, false) => format!("writes {amount} to {rails}"),
            (LoadOp::Read, true) => format!("reads {amount} from {rails}, and is read from"),
            (LoadOp::Write, true) => format!("writes {amount} to {rails}, and is written to"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::peer::plan::tests::plan;

    #[test]
    fn a_small_amount_is_said_in_words() {
        let mut plan = plan();
        (plan.params.qps, plan.params.size_bytes) = (1, 1);
        assert_eq!(plan.amount(), "1 B x 1 queue pair a rail");
    }
}
