//! Every view with a mouse alone.

use super::stage::{recorded, screen};
use super::{Spot, spot_at};
use crate::app::{App, Msg, View};
use ratatui::layout::Rect;

/// Clicks on the first place with this text.
fn click(app: &mut App, (width, height): (u16, u16), text: &str) {
    let picture = screen(app, (width, height));
    let found = picture.lines().enumerate().find(|(_, line)| line.contains(text));
    let (row, line) = found.unwrap_or_else(|| panic!("{text}\n{picture}"));
    let column = line[..line.find(text).unwrap()].chars().count() - 1;
    let cell = (u16::try_from(column).unwrap(), u16::try_from(row).unwrap());
    let spot =
        spot_at(app, Rect::new(0, 0, width, height), cell).unwrap_or_else(|| panic!("{text}\n{picture}"));
    app.update(Msg::Clicked(spot));
}

/// The rail of the view of one rail.
fn rail(app: &App) -> (View, String) {
    let id = app.rail_at(app.selection().rail.unwrap()).unwrap();
    (app.view(), app.shown().topology().rails[id.0].device.clone())
}

#[test]
fn a_second_click_opens_the_rail_of_every_view() {
    for size in [(80, 24), (120, 40), (200, 60)] {
        for (view, text) in
            [(View::Home, "mlx5_bond_7"), (View::Topology, "mlx5_bond_7"), (View::Placement, "mlx5_bond_2")]
        {
            let mut app = recorded("cross-numa.rsz", view);
            click(&mut app, size, text);
            assert_eq!(app.view(), view, "one click selects");
            click(&mut app, size, text);
            assert_eq!(rail(&app), (View::Rail, text.into()), "{view} at {size:?}");
        }
    }
    let mut app = recorded("cross-numa.rsz", View::Home);
    for _ in 0..2 {
        click(&mut app, (120, 40), "WARN  cross-numa");
    }
    assert_eq!(rail(&app), (View::Rail, "mlx5_bond_5".into()));
    click(&mut app, (120, 40), "1 Home");
    assert_eq!(app.view(), View::Home);
}

#[test]
fn a_click_closes_what_lies_over_the_screen_and_goes_no_deeper() {
    let mut app = recorded("cross-numa.rsz", View::Home);
    super::stage::press(&mut app, crossterm::event::KeyCode::Char('?'));
    let spot = spot_at(&app, Rect::new(0, 0, 80, 24), (14, 2));
    assert_eq!(spot, Some(Spot::Over));
    app.update(Msg::Clicked(Spot::Over));
    assert!(!app.popups().is_open() && app.view() == View::Home);
}
