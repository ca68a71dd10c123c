//! Every command with its arguments as one page of Markdown: `docs/reference/commands.md`.
use clap::{Arg, Command};
use loop_core::settings::catalogue;

use crate::render::wrap::hanging;

/// How wide the page is.
const COLUMNS: usize = 120;

const HEAD: &str = "\
# Commands

<!-- written by `cargo xtask generate` from the command lines that are parsed; do not edit -->

Every command and every argument. `-h` shows the short help of a command, `--help` all of it. A setting is a flag of the
commands that start or resume a loop; [settings](settings.md) says what each one is. Every switch among them has a
`--no-` form.
";

/// The page with these programs and all their commands.
pub(super) fn page(programs: Vec<Command>) -> String {
    let mut page = String::from(HEAD);
    for program in programs {
        let mut program = program.disable_help_subcommand(true);
        program.build();
        section(&mut page, &program, true);
    }
    page
}

fn section(page: &mut String, command: &Command, is_program: bool) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    page.push_str(&format!("\n## `{name}`\n\n"));
    let about = command.get_long_about().or_else(|| command.get_about()).map(ToString::to_string).unwrap_or_default();
    paragraph(page, &about);
    let usage = command.clone().render_usage().to_string();
    page.push_str("\n```text\n");
    page.push_str(usage.trim().trim_start_matches("Usage: "));
    page.push_str("\n```\n");
    let others: Vec<String> = command.get_visible_aliases().map(|alias| format!("`{alias}`")).collect();
    if !others.is_empty() {
        page.push('\n');
        paragraph(page, &format!("Also called {}.", others.join(" and ")));
    }
    let shown = |arg: &&Arg| !arg.is_hide_set() && arg.get_id() != "help" && (is_program || !arg.is_global_set());
    let (settings, own): (Vec<&Arg>, Vec<&Arg>) =
        command.get_arguments().filter(shown).partition(|arg| is_setting(arg));
    if !own.is_empty() {
        page.push('\n');
    }
    for arg in own {
        let text = format!("- {}: {}", names(arg), escaped(&help(arg)));
        page.push_str(&hanging(&one_line(&text), 2, COLUMNS));
        page.push('\n');
    }
    if !settings.is_empty() {
        let link = |arg: &&Arg| {
            Some(format!("[`--{}`](settings.md#{})", arg.get_long()?, arg.get_id().as_str().replace(' ', "-")))
        };
        let links: Vec<String> = settings.iter().filter_map(link).collect();
        page.push_str("\nSettings as flags:\n\n");
        // One on a line: links are long, and a change of one is a change of one line.
        links.iter().for_each(|link| page.push_str(&format!("- {link}\n")));
    }
    if let Some(more) = command.get_after_help() {
        let line = |line: &str| hanging(line, line.len() - line.trim_start().len(), COLUMNS);
        let lines: Vec<String> = more.to_string().trim_end().lines().map(line).collect();
        page.push_str(&format!("\n```text\n{}\n```\n", lines.join("\n")));
    }
    for below in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        section(page, below, false);
    }
}

fn is_setting(arg: &Arg) -> bool {
    catalogue().any(|key| arg.get_id() == key.name)
}

/// How it is typed, with its value and its other names.
fn names(arg: &Arg) -> String {
    let values: Vec<&str> = arg.get_value_names().unwrap_or_default().iter().map(clap::builder::Str::as_str).collect();
    let value = values.join(" ");
    if arg.is_positional() {
        return format!("`{value}`");
    }
    let with_value = |flag: String| if arg.get_action().takes_values() { format!("{flag} {value}") } else { flag };
    let short = arg.get_short().map(|short| format!("`-{short}`"));
    let long = arg.get_long().map(|long| format!("`{}`", with_value(format!("--{long}"))));
    let others = arg.get_visible_aliases().unwrap_or_default();
    let others = others.iter().map(|other| format!("`--{other}`"));
    short.into_iter().chain(long).chain(others).collect::<Vec<_>>().join(", ")
}

/// What it is, and the words that it takes.
fn help(arg: &Arg) -> String {
    let text = arg.get_long_help().or_else(|| arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let words: Vec<String> = match arg.get_action().takes_values() {
        true => arg.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect(),
        false => Vec::new(),
    };
    if words.is_empty() { text } else { format!("{text} ({})", words.join(", ")) }
}

fn paragraph(page: &mut String, text: &str) {
    page.push_str(&hanging(&escaped(&one_line(text)), 0, COLUMNS));
    page.push('\n');
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text in which nothing is taken for a tag.
fn escaped(text: &str) -> String {
    text.replace('<', "\\<")
}

#[cfg(test)]
mod tests {
    use super::help;
    use crate::commands::man::programs;
    use clap::Command;

    /// The commands and arguments below this one that say nothing about themselves.
    fn without_text(command: &Command, path: &str) -> Vec<String> {
        let name = format!("{path} {}", command.get_name());
        let mut found = Vec::new();
        if command.get_about().is_none() {
            found.push(name.clone());
        }
        let silent = command.get_arguments().filter(|arg| help(arg).trim().is_empty());
        found.extend(silent.map(|arg| format!("{name}: {}", arg.get_id())));
        found.extend(command.get_subcommands().flat_map(|sub| without_text(sub, &name)));
        found
    }

    #[test]
    fn every_command_and_every_argument_says_what_it_is() {
        // req: A-33 partly: commands and flags
        let mut found = Vec::new();
        for mut program in programs() {
            program.build();
            found.extend(without_text(&program, ""));
        }
        assert!(found.is_empty(), "write a sentence for: {}", found.join(", "));
    }
}
