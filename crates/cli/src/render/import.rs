//! What `loop import` maps, what it leaves, and what it writes.
use std::path::{Path, PathBuf};

use loop_core::agent::shell_words::quoted;
use loop_core::import::{FileAccount, ImportLine, ImportPlan, LineFate, NextCommand};
use loop_core::text::{escaped, escaped_head};
use loop_host::checkpoint::diff::{PatchPiece, patch_of_texts};
use loop_host::paths::text_of;
use serde_json::json;

use super::diff::visible;
use super::printer::{Paint, Printer, text_width};
use super::wrap::hanging;

/// So many letters of a value are shown.
const VALUE_MAX: usize = 60;
/// So many lines of a new file are shown.
const NEW_LINES_MAX: usize = 40;

/// Where files are written.
#[derive(Debug)]
pub(crate) struct ImportTarget {
    pub(crate) folder: PathBuf,
    /// Whether it is the current folder.
    pub(crate) is_here: bool,
}

/// A file as it is and as it will be.
#[derive(Debug)]
pub(crate) struct FileChange {
    pub(crate) name: String,
    pub(crate) before: Option<String>,
    pub(crate) after: String,
}

impl FileChange {
    /// Whether there is nothing to write.
    pub(crate) fn is_same(&self) -> bool {
        self.before.as_ref() == Some(&self.after)
    }

    /// Whether a file that is there would change.
    pub(crate) fn is_changed(&self) -> bool {
        self.before.is_some() && !self.is_same()
    }

    fn word(&self) -> &'static str {
        match self.before {
            None => "new",
            Some(_) if self.is_same() => "same",
            Some(_) => "changed",
        }
    }

    /// For programs.
    pub(crate) fn json(&self) -> serde_json::Value {
        json!({"file": self.name, "change": self.word(), "text": self.after})
    }

    /// What changes, for people.
    fn shown(&self, printer: Printer) -> String {
        let head = format!("{} ({}):\n", self.name, self.word());
        match &self.before {
            Some(before) => {
                format!("{}{}", printer.paint(Paint::Head, &head), difference(printer, before, &self.after))
            }
            None => {
                let lines: Vec<&str> = self.after.lines().collect();
                let mut text = printer.paint(Paint::Head, &head);
                for line in lines.iter().take(NEW_LINES_MAX) {
                    text.push_str(&format!("  {}\n", visible(line.as_bytes())));
                }
                if lines.len() > NEW_LINES_MAX {
                    text.push_str(&format!("  … and {} more lines\n", lines.len() - NEW_LINES_MAX));
                }
                text
            }
        }
    }
}

/// Two texts line by line.
fn difference(printer: Printer, before: &str, after: &str) -> String {
    let mut text = String::new();
    let mut take = |piece: PatchPiece, bytes: &[u8]| {
        let shown = visible(bytes.strip_suffix(b"\n").unwrap_or(bytes));
        let shown = match piece {
            PatchPiece::Added => printer.paint(Paint::Good, &shown),
            PatchPiece::Removed => printer.paint(Paint::Bad, &shown),
            PatchPiece::Location => printer.paint(Paint::Place, &shown),
            PatchPiece::Head | PatchPiece::Context | PatchPiece::Note => shown,
        };
        text.push_str(&format!("  {shown}\n"));
        Ok(())
    };
    patch_of_texts(before, after, &mut take).ok();
    if text.is_empty() { "  nothing changes\n".to_owned() } else { text }
}

/// The whole answer for people, without what was written.
pub(crate) fn report(printer: Printer, plan: &ImportPlan, changes: &[FileChange], root: &Path) -> String {
    let files: Vec<String> = plan.accounts.iter().map(|account| escaped(&account.file)).collect();
    let mut text = format!("read as {}, in {}: {}\n", plan.tool.title(), text_of(root), files.join(", "));
    let mut part = |title: &str, is_it: &dyn Fn(&LineFate) -> bool| {
        let lines: Vec<&ImportLine> = plan.lines.iter().filter(|line| is_it(&line.fate)).collect();
        if !lines.is_empty() {
            text.push_str(&printer.paint(Paint::Head, &format!("\n{title} ({})\n", lines.len())));
            lines.iter().for_each(|line| text.push_str(&shown(line)));
        }
    };
    part("Mapped", &|fate| matches!(fate, LineFate::Set { .. } | LineFate::Copied { .. }));
    part("For you to set: a project file may not", &|fate| matches!(fate, LineFate::Yours { .. }));
    part("Left to another command", &|fate| matches!(fate, LineFate::Later { .. }));
    part("Not mapped", &|fate| matches!(fate, LineFate::Left { .. }));
    if !plan.beside.is_empty() {
        text.push_str(&printer.paint(Paint::Head, &format!("\nNot read ({})\n", plan.beside.len())));
        for file in &plan.beside {
            text.push_str(&format!("  {}  {}\n", escaped(&file.name), file.why));
        }
    }
    text.push_str(&printer.paint(Paint::Head, "\nEvery line\n"));
    plan.accounts.iter().for_each(|account| text.push_str(&format!("  {}\n", counted(account))));
    for note in &plan.notes {
        text.push_str(&format!("note: {}\n", escaped(note)));
    }
    text.push('\n');
    changes.iter().filter(|change| !change.is_same()).for_each(|change| text.push_str(&change.shown(printer)));
    text
}

/// One line of the report: where, what, and what becomes of it.
fn shown(line: &ImportLine) -> String {
    let place = match (line.from, line.to) {
        (0, _) => "-".to_owned(),
        (from, to) if from == to => format!("{}:{from}", line.file),
        (from, to) => format!("{}:{from}-{to}", line.file),
    };
    let value = escaped_head(&line.value, VALUE_MAX);
    let what = if value.is_empty() { line.what.clone() } else { format!("{} = {value}", line.what) };
    let fate = match &line.fate {
        LineFate::Set { key, value, needs_approval } => {
            let asks = if *needs_approval { " (asks for your approval at the start)" } else { "" };
            format!("→ {key} = {}{asks}", escaped_head(value, VALUE_MAX))
        }
        LineFate::Yours { words, why, .. } => format!("→ {} ({why})", escaped(words)),
        LineFate::Copied { to } => format!("→ {to}"),
        LineFate::Later { why } | LineFate::Left { why } => format!(": {}", escaped(why)),
    };
    let gap = if fate.starts_with(':') { "" } else { " " };
    hanging(&format!("  {}  {}{gap}{fate}", escaped(&place), escaped(&what)), 6, text_width()) + "\n"
}

/// `.ralphrc: 80 lines: 12 set, 5 not mapped, 63 empty or comments`.
fn counted(account: &FileAccount) -> String {
    let parts = [
        (account.set, "set"),
        (account.yours, "for you to set"),
        (account.copied, "copied"),
        (account.later, "left to another command"),
        (account.left, "not mapped"),
        (account.nothing, "empty, comments, headings or brackets"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, words)| format!("{count} {words}")).collect();
    let lines = if account.lines == 1 { "1 line".to_owned() } else { format!("{} lines", account.lines) };
    format!("{}: {lines}: {}", escaped(&account.file), parts.join(", "))
}

/// The command to type next.
pub(crate) fn next_words(plan: &ImportPlan, target: &ImportTarget, root: &Path) -> String {
    let path = |name: &str| {
        let path = if target.is_here { name.to_owned() } else { text_of(&target.folder.join(name)) };
        quoted(&path)
    };
    match &plan.next {
        NextCommand::Workflow { file, is_written: true } => format!("loop workflow check {}", path(file)),
        NextCommand::Workflow { file, is_written: false } => {
            let path = if target.is_here && root == target.folder { file.clone() } else { text_of(&root.join(file)) };
            format!("loop workflow check {}", quoted(&path))
        }
        NextCommand::Start { prompt, flags, needs_promise } => {
            let mut words = vec!["loop start".to_owned()];
            if !target.is_here {
                words.push(format!("-C {}", quoted(&text_of(&target.folder))));
            }
            match prompt {
                Some(file) => words.push(format!("--prompt-file {}", path(file))),
                None => words.push("\"the task\"".to_owned()),
            }
            if *needs_promise {
                words.push("--promise \"a command that shows that it is done\"".to_owned());
            }
            words.extend(flags.iter().cloned());
            words.join(" ")
        }
    }
}
