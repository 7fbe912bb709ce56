//! What the config file says of the screen: keys, colours, unit.

use crate::app::Keymap;
use crate::view::{Colours, RateUnit};
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
        Ok(Screen { keys: Keymap::with(&keys.collect())?, colours: self.colours, unit: self.unit })
    }
}
