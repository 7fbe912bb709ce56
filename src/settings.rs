//! Settings: flags over the config file over defaults.

mod moment;
mod screen;
mod units;

pub use moment::Moment;
pub use screen::Screen;
pub use units::{Period, Size, file_bytes};

use crate::rules::{self, Limits, Severity};
use crate::view::{Colours, Column, RateUnit};
use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use probes::bounded;
use screen::{Keys, ScreenFile};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A config file has some lines.
const MOST_CONFIG_BYTES: u64 = 1 << 20;

/// Lowest severity that makes the exit code 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailOn {
    /// Anything found at all.
    Info,
    /// What costs bandwidth, or soon will.
    Warning,
    /// What does not work.
    Error,
    /// Nothing.
    Never,
}

impl FailOn {
    /// Whether a finding of this severity makes the exit code 1.
    #[must_use]
    pub fn fails(self, severity: Severity) -> bool {
        match self {
            Self::Info => true,
            Self::Warning => severity >= Severity::Warning,
            Self::Error => severity >= Severity::Error,
            Self::Never => false,
        }
    }
}

/// What can stand on the command line and in the config file alike.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Overlay {
    /// Only these rails, by exact device name
    #[arg(short = 'd', long, value_delimiter = ',', value_name = "A,B")]
    pub rails: Option<Vec<String>>,
    /// Time between samples
    #[arg(long, value_name = "DURATION")]
    pub every: Option<Period>,
    /// Lowest severity that makes the exit code 1 [default: warning]
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub fail_on: Option<FailOn>,
    /// Leave out findings of these codes
    #[arg(long, value_delimiter = ',', value_name = "CODE")]
    pub ignore: Option<Vec<String>>,
}

/// The config file: an overlay, limits of rules, and the screen.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct File {
    rails: Option<Vec<String>>,
    every: Option<Period>,
    fail_on: Option<FailOn>,
    ignore: Option<Vec<String>>,
    limits: Limits,
    colours: Option<Colours>,
    unit: Option<RateUnit>,
    columns: Option<Vec<Column>>,
    mouse: Option<bool>,
    keys: BTreeMap<String, Keys>,
}

/// Flags that most commands share.
#[derive(Clone, Debug, Default, Args)]
pub struct Common {
    /// What the config file may hold too.
    #[command(flatten)]
    pub overlay: Overlay,
    /// Read a copied tree instead of this machine
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Step the counters of a copied tree, without real time
    #[arg(long, value_name = "FILE", requires = "root")]
    pub steps: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// No screen: print the report at the end
    #[arg(long)]
    pub headless: bool,
    /// How long to watch: 5s, 2m
    #[arg(short = 'D', long = "for", value_name = "DURATION")]
    pub duration: Option<Period>,
    /// Write the session into this file as well
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Config file (TOML): rails, every, fail-on, ignore, [limits], colours, unit, columns, mouse, [keys]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Limits of the rules, from the config file.
    #[arg(skip)]
    pub limits: Limits,
    /// Keys, colours and unit of the screen, from the config file.
    #[arg(skip)]
    pub screen: Screen,
    /// A topology that another tool wrote, instead of a node; only commands that name the flag have it.
    #[arg(skip)]
    pub topology: Option<PathBuf>,
}

impl Common {
    /// Flags over the config file.
    ///
    /// # Errors
    ///
    /// The file is not there, a key in it is misspelt, or a code to ignore is none.
    pub fn with_config(mut self) -> anyhow::Result<Self> {
        if let Some(path) = &self.config {
            let file = read(path)?;
            let flags = &mut self.overlay;
            flags.rails = flags.rails.take().or(file.rails);
            flags.every = flags.every.or(file.every);
            flags.fail_on = flags.fail_on.or(file.fail_on);
            flags.ignore = flags.ignore.take().or(file.ignore);
            self.limits = file.limits;
            let screen = ScreenFile {
                colours: file.colours,
                unit: file.unit,
                columns: file.columns,
                mouse: file.mouse,
                keys: file.keys,
            };
            let screen = screen.screen().with_context(|| format!("config file {}", path.display()));
            self.screen = Screen::or_refusal(screen);
        } else {
            self.screen = Screen::or_refusal(own_screen(|name| std::env::var_os(name)));
        }
        rules::all_known(self.ignore()).context("--ignore")?;
        self.overlay.rails = self.overlay.rails.as_deref().map(distinct).transpose()?;
        if let (Some(every), Some(time)) = (self.overlay.every, self.duration) {
            ensure!(every <= time, "--every {every} is longer than --for {time}: one sample tells no rate");
        }
        Ok(self)
    }

    /// Refuses the flags of those who watch, for a command that looks once.
    ///
    /// # Errors
    ///
    /// One of them was given.
    pub fn refuse_watching(&self, command: &str) -> anyhow::Result<()> {
        for (given, flag) in [
            (self.record.is_some(), "--record"),
            (self.duration.is_some(), "--for"),
            (self.overlay.every.is_some(), "--every"),
            (self.steps.is_some(), "--steps"),
        ] {
            ensure!(!given, "{flag}: {command} looks once; `railscope check` and `railscope record` watch");
        }
        Ok(())
    }

    /// Codes of findings to leave out.
    #[must_use]
    pub fn ignore(&self) -> &[String] {
        self.overlay.ignore.as_deref().unwrap_or_default()
    }
}

/// Names without the blanks around them, each once.
fn distinct(names: &[String]) -> anyhow::Result<Vec<String>> {
    let mut distinct: Vec<String> = Vec::new();
    for name in names {
        let name = name.trim();
        ensure!(!name.is_empty(), "--rails: a name is empty; write the names with commas between: a,b");
        if distinct.iter().all(|known| known != name) {
            distinct.push(name.to_owned());
        }
    }
    Ok(distinct)
}

/// The screen as the user's own config file has it: `railscope/config.toml` in `$XDG_CONFIG_HOME`, else in `~/.config`
/// (XDG Base Directory Specification). That file is about the screen alone.
///
/// # Errors
///
/// It is there and cannot be used.
pub fn own_screen(variable: impl Fn(&str) -> Option<OsString>) -> anyhow::Result<Screen> {
    let set = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let Some(folder) = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config"))) else {
        return Ok(Screen::default());
    };
    let path = folder.join("railscope").join("config.toml");
    if !path.exists() {
        return Ok(Screen::default());
    }
    let name = || format!("config file {}", path.display());
    let text = text_of(&path)?;
    let file: ScreenFile = toml::from_str(&text).with_context(|| {
        format!(
            "{}, which is read without being named and so holds colours, unit, columns, mouse and [keys] alone, as no verdict may \
             depend on who looks; name it with --config for the rest",
            name()
        )
    })?;
    file.screen().with_context(name)
}

fn text_of(path: &Path) -> anyhow::Result<String> {
    let name = || format!("config file {}", path.display());
    let bytes = bounded::read(path, MOST_CONFIG_BYTES).with_context(name)?;
    String::from_utf8(bytes).context("is no text (UTF-8)").with_context(name)
}

fn read(path: &Path) -> anyhow::Result<File> {
    let name = || format!("config file {}", path.display());
    let text = text_of(path)?;
    let file: File = toml::from_str(&text).with_context(name)?;
    file.limits.check().map_err(anyhow::Error::msg).context("[limits]").with_context(name)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::{Common, own_screen};
    use crate::settings::Overlay;
    use crate::view::RateUnit;

    fn with(rails: &[&str], every: &str, time: &str) -> anyhow::Result<Common> {
        let rails = Some(rails.iter().map(|name| (*name).to_owned()).collect());
        let overlay = Overlay { rails, every: Some(every.parse().unwrap()), ..Overlay::default() };
        Common { overlay, duration: Some(time.parse().unwrap()), ..Common::default() }.with_config()
    }

    #[test]
    fn a_rail_named_twice_is_one_rail() {
        let common = with(&["mlx5_1", " mlx5_0 ", "mlx5_1"], "1s", "1s").unwrap();
        assert_eq!(common.overlay.rails.unwrap(), ["mlx5_1", "mlx5_0"]);
        assert!(with(&["mlx5_1", " "], "1s", "1s").unwrap_err().to_string().contains("a name is empty"));
    }

    #[test]
    fn the_users_own_file_is_about_the_screen_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("railscope/config.toml");
        let look = || {
            let home = folder.path().as_os_str().to_owned();
            own_screen(|name| (name == "XDG_CONFIG_HOME").then(|| home.clone()))
        };
        assert!(look().is_ok(), "there is none");
        std::fs::create_dir(folder.path().join("railscope")).unwrap();
        std::fs::write(
            &path,
            "unit = \"Gb/s\"\ncolumns = [\"node\"]\nmouse = false\n[keys]\nquit = \"x\"\nunits = [\"k\"]",
        )
        .unwrap();
        let screen = look().unwrap();
        assert_eq!((screen.unit, screen.colours), (Some(RateUnit::GigabitsPerS), None));
        assert_eq!(screen.keys.first(crate::app::Action::Quit), "x");
        std::fs::write(&path, "ignore = [\"mtu\"]").unwrap();
        let error = format!("{:#}", look().unwrap_err());
        assert!(
            error.contains("no verdict may depend") && error.contains("unknown field `ignore`"),
            "{error}"
        );
        std::fs::write(&path, "[keys]\nfly = \"x\"").unwrap();
        assert!(
            format!("{:#}", look().unwrap_err())
                .ends_with("there is no such action; `railscope keys` lists them")
        );
    }

    #[test]
    fn a_broken_table_of_keys_stops_nothing_but_the_screen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, "fail-on = \"error\"\n[keys]\nfly = \"x\"").unwrap();
        let common = Common { config: Some(path), ..Common::default() }.with_config().unwrap();
        assert_eq!(common.fail_on(), crate::settings::FailOn::Error, "the rest of the file holds");
        let refusal = common.screen.checked().unwrap_err().to_string();
        assert!(refusal.contains("config.toml") && refusal.contains("[keys] fly"), "{refusal}");
    }

    #[test]
    fn a_time_between_samples_beyond_the_whole_time_is_refused() {
        let error = with(&["a"], "1h", "600ms").unwrap_err().to_string();
        assert_eq!(error, "--every 3600s is longer than --for 600ms: one sample tells no rate");
    }
}
