//! `railscope explain`: what a finding code or a word of the trade means.

use super::output::Output;
use crate::cli::ExplainArgs;
use crate::report::{Contents, Explained};
use crate::rules::explain::{self, Explanation, FAMILIES, TERMS, Term, with_limits};
use crate::rules::{Limits, did_you_mean};
use crate::settings::Common;
use anyhow::bail;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
///
/// A word that is neither a code nor known, or a config file that cannot be read.
pub fn run(args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    let limits = Common { config: args.config.clone(), ..Common::default() }.with_config()?.limits;
    let asked: Vec<Asked> = args.words.iter().map(|word| asked(word)).collect::<anyhow::Result<_>>()?;
    let text = if args.json {
        let all = FAMILIES.iter().flat_map(|family| family.codes).map(Asked::Code);
        let all = || all.chain(TERMS.iter().map(Asked::Word)).collect();
        let asked: Vec<Asked> = if asked.is_empty() { all() } else { asked };
        let values: Vec<Value> = asked.iter().map(|one| one.json(&limits)).collect();
        format!("{:#}\n", json!({ "schema": "railscope.explain/1", "explained": values }))
    } else if asked.is_empty() {
        Contents.to_string()
    } else {
        in_words(&asked, &limits)
    };
    Output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// What was asked for.
enum Asked {
    Code(&'static Explanation),
    Word(&'static Term),
}

impl Asked {
    fn json(&self, limits: &Limits) -> Value {
        match self {
            Self::Code(code) => json!({
                "code": code.code,
                "severity": code.severity,
                "means": with_limits(code.means, limits),
                "fires": with_limits(code.fires, limits),
                "silent": with_limits(code.silent, limits),
                "to_do": with_limits(code.mend, limits),
                "sources": code.source,
            }),
            Self::Word(term) => json!({ "words": term.words, "means": term.means }),
        }
    }
}

fn asked(word: &str) -> anyhow::Result<Asked> {
    if let Some(code) = explain::of(word) {
        return Ok(Asked::Code(code));
    }
    match explain::term(word) {
        Some(term) => Ok(Asked::Word(term)),
        None => bail!(
            "`{word}` is neither a finding code nor a word that is explained{} `railscope explain` lists both",
            did_you_mean(word)
        ),
    }
}

fn in_words(asked: &[Asked], limits: &Limits) -> String {
    let mut text = String::new();
    for (at, one) in asked.iter().enumerate() {
        let gap = if at == 0 { "" } else { "\n" };
        // writing into a string cannot fail
        let _ = match one {
            Asked::Code(code) => write!(text, "{gap}{}", Explained { code, limits }),
            Asked::Word(term) => write!(text, "{gap}{term}"),
        };
    }
    text
}
