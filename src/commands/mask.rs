//! `railscope mask`: a copy of a recording that may be passed on.

use super::progress::Progress;
use crate::cli::MaskArgs;
use crate::printable::{Printable, tell};
use crate::session::{MaskedCopy, masked_copy};
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
///
/// The recording cannot be read, or the copy exists already or cannot be written.
pub fn run(args: &MaskArgs) -> anyhow::Result<ExitCode> {
    let progress = Progress::new();
    let copy = masked_copy(&args.file, &args.output, &mut |share| progress.share("masking", share))?;
    drop(progress);
    if let Some(warning) = &copy.warning {
        tell(format_args!("{}: {warning}; so is its copy", args.file.display()));
    }
    let summary = if args.json { as_json(args, &copy).to_string() } else { as_text(args, &copy) };
    // the copy is there, whether or not anybody reads this
    let _ = writeln!(std::io::stdout(), "{}", Printable(summary));
    Ok(ExitCode::SUCCESS)
}

fn as_text(args: &MaskArgs, copy: &MaskedCopy) -> String {
    let file = args.output.display();
    let masked = copy.in_words();
    format!(
        "{file}: {} frames, {} bytes; masked: {masked}\nlook into it before you pass it on: zstdcat {file} | less",
        copy.frames, copy.bytes
    )
}

fn as_json(args: &MaskArgs, copy: &MaskedCopy) -> serde_json::Value {
    json!({
        "schema": "railscope.mask/1",
        "generated_by": crate::GENERATED_BY,
        // JSON has no other bytes than Unicode
        "file": args.output.to_string_lossy(),
        "bytes": copy.bytes,
        "frames": copy.frames,
        "masked": copy.masked.values,
        "warning": copy.warning,
    })
}
