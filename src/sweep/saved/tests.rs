use super::{Resume, Sweep};
use crate::sweep::grid::Grid;
use crate::sweep::row::Point;
use probes::load::Params;

fn sweep() -> Sweep {
    let grid = Grid::new(&"1K..4K".parse().unwrap(), &[1, 4], &[1]).unwrap();
    Sweep::new(Params::default(), 15.0, grid)
}

#[test]
fn a_sweep_goes_on_where_its_file_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.json");
    let mut begun = sweep().resumed(&path, Resume::No).unwrap();
    let spots = begun.grid.spots();
    for spot in [spots[3], spots[0]] {
        let mut point = Point { spot, window_s: 15.0, ..Point::default() };
        point.all.gb_per_s = Some(0.1 + 0.2);
        begun.add(point);
        begun.save(&path).unwrap();
    }
    let begun = begun.with_statements();
    assert!(!begun.statements.is_empty(), "the file is what --json prints");
    let resumed = sweep().resumed(&path, Resume::Yes).unwrap();
    assert_eq!(resumed, begun, "to the last bit");
    assert_eq!(resumed.points[0].spot, spots[0], "in the order of the grid");
    assert_eq!(resumed.missing(), [spots[1], spots[2], spots[4], spots[5]]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn a_point_that_failed_is_measured_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.json");
    let mut begun = sweep();
    let spot = begun.grid.spots()[0];
    begun.add(Point { spot, left_out: Some("mlx5_0 failed".to_owned()), ..Point::default() });
    begun.save(&path).unwrap();
    assert_eq!(sweep().resumed(&path, Resume::Yes).unwrap().missing().len(), 6);
}

#[test]
fn a_file_with_other_parameters_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.json");
    sweep().save(&path).unwrap();
    let said = sweep().resumed(&path, Resume::No).unwrap_err().to_string();
    assert!(
        said.ends_with("sweep.json: is there already; --resume goes on with it, or choose another name"),
        "{said}"
    );
    let mut other = sweep();
    other.params.depth = 64;
    other.grid.qps = vec![1];
    let said = other.resumed(&path, Resume::Yes).unwrap_err().to_string();
    assert!(
            said.ends_with("was made with other parameters: depth 128 there, 64 now, qps [1,4] there, [1] now; give the same, or another --save"),
            "{said}"
        );
    std::fs::write(&path, "{}").unwrap();
    let said = sweep().resumed(&path, Resume::Yes).unwrap_err().to_string();
    assert!(said.contains("is no sweep of railscope"), "{said}");
}

#[test]
fn a_place_where_nothing_can_be_saved_is_known_before_the_first_point() {
    let folder = tempfile::tempdir().unwrap();
    Sweep::try_place(&folder.path().join("sweep.json")).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let said = Sweep::try_place(&folder.path().join("nodir/x.json")).unwrap_err().to_string();
    assert!(said.contains("nodir/x.json") && said.contains("No such file"), "{said}");
}
