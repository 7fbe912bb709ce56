//! Flags of `keys` and `shot`.

use crate::app::View;
use crate::settings::Moment;
use crate::view::{Colours, RateUnit};
use clap::Args;
use std::path::PathBuf;

const KEYS_HELP: &str = r#"Other keys stand in the config file, railscope/config.toml in $XDG_CONFIG_HOME
or ~/.config, or the one of --config:
  colours = "dark"             terminal, dark, light or none
  unit = "Gb/s"                GB/s, Gb/s or GiB/s
  columns = ["node", "badges"] of the rails, from: node, netdev, state, other,
                               ceiling, peak, trend, badges
  mouse = false                leave it to the terminal, which then selects text
  [keys]
  quit = ["x", "ctrl-c"]       instead of the keys of this table
  mark = "f2""#;

/// Flags of `keys`.
#[derive(Clone, Debug, Args)]
#[command(after_help = KEYS_HELP)]
pub struct KeysArgs {
    /// Config file (TOML) instead of the user's own
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

const SHOT_HELP: &str = "\
Examples:
  railscope shot home.svg node7.rsz --at 2:30
  railscope shot rail.svg node7.rsz --view rail --select mlx5_3
  railscope shot curves.svg n1-n2.json
  railscope shot machine.svg --scenario shared-uplink --view topology --size \\
    200x60

The picture is of the session up to that moment, as the screen shows it. Equal
input gives equal bytes.

Exit codes: 0 written, 2 could not do it (the reason is on stderr).";

/// Flags of `shot`.
#[derive(Clone, Debug, Args)]
#[command(after_help = SHOT_HELP)]
pub struct ShotArgs {
    /// Picture to write, in place of one that is there; NAME.txt is the text
    /// alone
    #[arg(value_name = "FILE.svg")]
    pub file: PathBuf,
    /// Session file to show, what `sweep --save` kept, or a folder whose sessions are listed [default: the demo]
    #[arg(value_name = "SESSION")]
    pub session: Option<PathBuf>,
    /// Scenario of the demo, where no session is named [default: mixed]
    #[arg(long, value_name = "NAME", conflicts_with = "session")]
    pub scenario: Option<String>,
    /// View to show
    #[arg(long, default_value_t = View::Home, value_name = "VIEW")]
    pub view: View,
    /// Size of the screen in cells, 60x15 to 500x200
    #[arg(long, default_value = "120x40", value_name = "WxH", value_parser = size)]
    pub size: (u16, u16),
    /// Moment to show: 90s, 1:30 [default: the end; of the demo 10s]
    #[arg(long, value_name = "TIME")]
    pub at: Option<Moment>,
    /// Rail to select, by exact device name
    #[arg(long, value_name = "RAIL")]
    pub select: Option<String>,
    /// Colours
    #[arg(long, value_enum, default_value = "dark", value_name = "COLOURS")]
    pub colours: Colours,
    /// Unit of rates: GB/s, Gb/s or GiB/s
    #[arg(long, default_value = "GB/s", value_name = "UNIT")]
    pub unit: RateUnit,
    /// Lay the help over it
    #[arg(long)]
    pub help_open: bool,
}

/// Cells of a screen: `120x40`.
fn size(text: &str) -> Result<(u16, u16), String> {
    let bad = || format!("`{text}` is no size; write 120x40, from 60x15 to 500x200");
    let (width, height) = text.split_once('x').ok_or_else(bad)?;
    let cells: (u16, u16) = (width.parse().map_err(|_| bad())?, height.parse().map_err(|_| bad())?);
    let fits = (60..=500).contains(&cells.0) && (15..=200).contains(&cells.1);
    fits.then_some(cells).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn a_size_is_two_numbers_of_cells() {
        assert_eq!(size("80x24"), Ok((80, 24)));
        for bad in ["80", "80x", "x24", "59x24", "80x14", "501x24", "80x201", "80X24", "-80x24"] {
            assert!(size(bad).unwrap_err().contains("write 120x40"), "{bad}");
        }
    }
}
