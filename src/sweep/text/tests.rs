use super::{Text, count};
use crate::sweep::bound::Bound;
use crate::sweep::grid::Grid;
use crate::sweep::row::{Nic, Point, RailPoint};
use crate::sweep::saved::Sweep;
use probes::load::Params;

fn sweep() -> Sweep {
    let grid = Grid::new(&"1K..4K".parse().unwrap(), &[1, 4], &[1]).unwrap();
    let mut sweep = Sweep::new(Params { duration_s: Some(15.0), ..Params::default() }, 15.0, grid);
    sweep.host.hostname = Some("n1".to_owned());
    sweep.host.peer = Some("n2".to_owned());
    sweep.host.transport = "verbs".to_owned();
    sweep.host.rails = vec!["mlx5_0".to_owned(), "mlx5_1".to_owned()];
    let why = "not supported: this CPU or virtual machine has no such counter";
    sweep.unavailable = [("cycles".to_owned(), why.to_owned())].into();
    for (at, spot) in sweep.grid.spots().into_iter().enumerate() {
        let rate = 20.0 + 3.0 * at as f64;
        let mut point = Point { spot, window_s: 15.0, ..Point::default() };
        point.bound = Bound { by: "unknown".to_owned(), because: "line not known".to_owned() };
        point.all.gbit_per_s = Some(rate);
        point.all.gb_per_s = Some(rate / 8.0);
        point.all.mpps = Some(rate * 1e3 / 8.0 / spot.size_bytes as f64);
        point.all.empty_poll_share = Some(0.031);
        point.all.perf.context_switches = Some(164);
        point.all.perf.l1d_load_misses = Some(137_700_000);
        point.all.nic = Nic { retransmits: Some(0), ..Nic::default() };
        for device in ["mlx5_0", "mlx5_1"] {
            let row = point.all.clone();
            point.rails.push(RailPoint {
                device: device.to_owned(),
                row,
                bound: point.bound.clone(),
                round_trip_us: None,
            });
        }
        point.perftest = vec!["mlx5_0: on n2: ib_read_bw\nmlx5_0: here: ib_read_bw n2".to_owned()];
        sweep.add(point);
    }
    sweep
}

#[test]
fn a_sweep_in_words() {
    insta::assert_snapshot!(Text(&sweep()).to_string());
}

#[test]
fn what_is_missing_is_never_zero() {
    let text = Text(&sweep()).to_string();
    assert!(text.contains("n/a or not whole: cycles: not supported"), "{text}");
    assert!(text.contains("n/a: ECN/CNP, rx pause, tx pause: these NICs have no"), "{text}");
    assert_eq!(count(None), None);
    assert_eq!(count(Some(0)).as_deref(), Some("0"), "a counter that is there and did not move");
}

#[test]
fn a_row_says_that_it_is_left_out_and_what_it_is_not() {
    let mut sweep = sweep();
    sweep.points[0].left_out = Some("DATA_MISMATCH".to_owned());
    sweep.points[1].caveat = Some("loopback, not fabric".to_owned());
    let text = Text(&sweep).to_string();
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("  unknown")).collect();
    assert!(rows[0].ends_with("  unknown; LEFT OUT: DATA_MISMATCH"), "{text}");
    assert!(rows[1].ends_with("  unknown; loopback, not fabric"), "{text}");
}

#[test]
fn wide_figures_do_not_run_into_each_other() {
    let mut sweep = sweep();
    sweep.points[0].all.gbit_per_s = Some(2_446_313.386_73);
    sweep.points[0].all.gb_per_s = Some(305_789.173_37);
    let text = Text(&sweep).to_string();
    assert!(text.contains("2446313.39 305789.173 "), "{text}");
}

#[test]
fn a_host_without_a_name_is_said() {
    let mut sweep = sweep();
    (sweep.host.hostname, sweep.host.peer) = (Some(String::new()), None);
    assert!(Text(&sweep).to_string().starts_with("sweep of READ on a host without a name\n"));
}

#[test]
fn the_tables_fit_a_terminal() {
    for line in Text(&sweep()).to_string().lines().filter(|line| line.contains("n/a  ")) {
        assert!(line.chars().count() <= 96, "{line}");
    }
}
