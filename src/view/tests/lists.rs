//! Rails and findings as lists: filtered, sorted, clicked on, with columns that are chosen.

use super::{demo, drawn, press, screen};
use crate::app::{App, Msg};
use crossterm::event::KeyCode;

#[test]
fn a_filter_lists_what_is_typed_as_it_is_typed_and_the_selection_stays() {
    let mut app = demo();
    for _ in 0..4 {
        press(&mut app, KeyCode::Down);
    }
    let selected = |app: &App| app.selection().rail.and_then(|at| app.rail_at(at)).map(|id| id.0 + 1);
    assert_eq!(selected(&app), Some(4));
    "/n0 leg".chars().for_each(|char| press(&mut app, KeyCode::Char(char)));
    let typed = screen(&app, 80, 24);
    assert!(typed.contains("filter:  n0 leg▏"), "{typed}");
    assert!(typed.contains("mlx5_bond_3") && !typed.contains("mlx5_bond_5"), "{typed}");
    assert!(typed.contains("8 rails  2 listed under the filter"), "{typed}");
    assert!(typed.contains("Findings: 2 warnings (4 without the filter)"), "{typed}");
    assert_eq!((app.listed_rails(), selected(&app)), (2, Some(4)));
    press(&mut app, KeyCode::Enter);
    insta::assert_snapshot!("filtered_80x24", screen(&app, 80, 24));
    press(&mut app, KeyCode::Char('/'));
    "x".chars().for_each(|char| press(&mut app, KeyCode::Char(char)));
    assert_eq!((app.listed_rails(), selected(&app)), (0, None));
    assert!(screen(&app, 80, 24).contains("none listed under the filter"));
    press(&mut app, KeyCode::Esc);
    assert_eq!((app.listed_rails(), app.filter(), app.prompt().is_some()), (8, "", false));
}

#[test]
fn rails_are_sorted_over_all_nodes() {
    let mut app = demo();
    press(&mut app, KeyCode::Char('s'));
    press(&mut app, KeyCode::Char('s'));
    let sorted = screen(&app, 120, 40);
    insta::assert_snapshot!("sorted_by_share_120x40", sorted);
    let first = app.rail_at(0).unwrap();
    assert!([2, 3].contains(&first.0), "the slow bonds first: {first:?}");
    press(&mut app, KeyCode::Char('r'));
    assert_eq!(
        (app.rail_at(7), app.notice()),
        (Some(first), Some("rails by share of the ceiling, highest first"))
    );
    press(&mut app, KeyCode::Char('s'));
    press(&mut app, KeyCode::Char('s'));
    assert_eq!(app.notice(), Some("rails by node and name"));
    assert_eq!(app.groups().len(), 2);
}

#[test]
fn a_click_does_what_stands_there() {
    let mut app = demo();
    let area = ratatui::layout::Rect::new(0, 0, 120, 40);
    let click = |app: &mut App, text: &str| {
        let screen = screen(app, 120, 40);
        let (row, line) = screen.lines().enumerate().find(|(_, line)| line.contains(text)).unwrap();
        let column = line[..line.find(text).unwrap()].chars().count() - 1;
        let cell = (u16::try_from(column).unwrap(), u16::try_from(row).unwrap());
        let spot = crate::view::spot_at(app, area, cell).unwrap_or_else(|| panic!("{text}\n{screen}"));
        app.update(Msg::Clicked(spot));
    };
    click(&mut app, "mlx5_bond_6 ");
    assert_eq!(app.selection().rail, Some(5));
    click(&mut app, "rail-imbalance");
    assert_eq!(app.selection().finding, Some(1), "the two before it are told as one");
    click(&mut app, "ceil ");
    assert_eq!(app.notice(), Some("rails by share of the ceiling, lowest first"));
    click(&mut app, "GB/s ceil");
    assert_eq!(app.notice(), Some("rails by rate, highest first"));
    click(&mut app, "GB/s ceil");
    assert_eq!(app.notice(), Some("rails by rate, lowest first"));
    click(&mut app, "2 Topology");
    assert_eq!(app.view(), crate::app::View::Topology);
}

#[test]
fn columns_are_chosen_from_a_list() {
    let mut app = demo();
    drawn(&mut app, 120, 40);
    press(&mut app, KeyCode::Char('v'));
    insta::assert_snapshot!("columns_80x24", drawn(&mut app, 80, 24));
    drawn(&mut app, 120, 40);
    for _ in 0..2 {
        press(&mut app, KeyCode::Down);
    }
    press(&mut app, KeyCode::Char(' '));
    press(&mut app, KeyCode::Up);
    press(&mut app, KeyCode::Enter);
    press(&mut app, KeyCode::Esc);
    let chosen = drawn(&mut app, 120, 40);
    assert!(chosen.contains("mlx5_bond_1 bond1 ") && !chosen.contains("ACTIVE"), "{chosen}");
    press(&mut app, KeyCode::Char('v'));
    for _ in 0..9 {
        press(&mut app, KeyCode::Down);
    }
    press(&mut app, KeyCode::Enter);
    assert_eq!(app.columns(), None);
}
