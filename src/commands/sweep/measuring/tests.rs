use super::at_its_end;
use crate::session::Stop;
use probes::load::RunningLoad;
use probes::model::{Load, WorkerFrame};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A load whose data are checked only some looks after it was told to stop.
#[derive(Default)]
struct Checked {
    looks_left: AtomicU32,
}

impl RunningLoad for Checked {
    fn load(&self) -> Arc<Load> {
        Arc::default()
    }

    fn workers(&self) -> Vec<WorkerFrame> {
        let mut worker = WorkerFrame::default();
        if self.looks_left.load(Ordering::Relaxed) == 0 {
            worker.errors.insert("DATA_MISMATCH".to_owned(), 2);
        }
        vec![worker]
    }

    fn is_over(&self) -> bool {
        let one_less = |left: u32| Some(left.saturating_sub(1));
        self.looks_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less) == Ok(0)
    }

    fn stop(&self) {
        self.looks_left.store(3, Ordering::Relaxed);
    }

    fn failures(&self) -> Vec<String> {
        self.workers()[0].errors.keys().cloned().collect()
    }
}

#[test]
fn the_check_of_the_data_is_waited_for() {
    let (last, failures) = at_its_end(&Checked::default(), &Stop::new(), Duration::from_mins(1));
    assert_eq!(last[0].errors["DATA_MISMATCH"], 2);
    assert_eq!(failures, ["DATA_MISMATCH"]);
}

#[test]
fn a_load_that_does_not_come_to_rest_is_a_failure() {
    let (_, failures) = at_its_end(&Checked::default(), &Stop::new(), Duration::ZERO);
    assert_eq!(failures, ["not at rest 0 s after its end: its data are not checked"]);
}
