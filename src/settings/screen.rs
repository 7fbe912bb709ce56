//! What the config file says of the screen: keys, colours, unit.

use crate::app::Keymap;
use crate::view::{Colours, Column, RateUnit};
use serde::Deserialize;
use std::collections::BTreeMap;

/// How the screen is set; what is `None` is as the terminal and the program have it.
#[derive(Clone, Debug, Default)]
pub struct Screen {
    /// Which keys do what.
    pub keys: Keymap,
    /// Colours.
    pub colours: Option<Colours>,
    /// Unit of rates.
    pub unit: Option<RateUnit>,
    /// Columns of the rails; as they fit the width without.
    pub columns: Option<Vec<Column>>,
    /// Whether clicks and the wheel are the program's; they are unless this says no, and text is selected with Shift held.
    pub mouse: Option<bool>,
    /// Why what the config file says of the screen cannot be used; `None` when it can, or says nothing. Commands that open a
    /// screen refuse to start then, the others have no use for it.
    pub refusal: Option<String>,
}

impl Screen {
    /// The settings, or, for those that need none, a screen as it comes with the reason.
    pub(super) fn or_refusal(read: anyhow::Result<Self>) -> Self {
        read.unwrap_or_else(|error| Self { refusal: Some(format!("{error:#}")), ..Self::default() })
    }

    /// Refuses to open a screen that is not as it was asked for.
    ///
    /// # Errors
    ///
    /// What the config file says of it cannot be used.
    pub fn checked(&self) -> anyhow::Result<()> {
        self.refusal.as_ref().map_or(Ok(()), |refusal| Err(anyhow::anyhow!("{refusal}")))
    }
}

/// One key, or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Keys {
    One(String),
    Several(Vec<String>),
}

/// What of a config file is about the screen.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(super) struct ScreenFile {
    pub colours: Option<Colours>,
    pub unit: Option<RateUnit>,
    pub columns: Option<Vec<Column>>,
    pub mouse: Option<bool>,
    pub keys: BTreeMap<String, Keys>,
}

impl ScreenFile {
    /// The settings.
    ///
    /// # Errors
    ///
    /// An action or a key is none, a key does two things, or nothing leaves the screen.
    pub(super) fn screen(self) -> anyhow::Result<Screen> {
        let keys = self.keys.into_iter().map(|(name, keys)| match keys {
            Keys::One(key) => (name, vec![key]),
            Keys::Several(keys) => (name, keys),
        });
        let keys = Keymap::with(&keys.collect())?;
        Ok(Screen {
            keys,
            colours: self.colours,
            unit: self.unit,
            columns: self.columns,
            mouse: self.mouse,
            refusal: None,
        })
    }
}
