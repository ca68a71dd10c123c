//! `loop man`: pages of the manual, made from the same command lines that are parsed.
use std::path::PathBuf;

use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;
use loop_core::text::nearest;

use super::command_line::Cli;
use super::own_place::{self, OwnFile};
use super::{loopd, loopr, manual_page};
use crate::context::{Context, Done};
use crate::render::error::{CommandError, Kind};

/// Print a page of the manual, write all pages to a folder, or install them for yourself
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The page: loop, loop-start and so on, loopr or loopd; or only the command [default: loop]
    #[arg(value_name = "PAGE", conflicts_with_all = ["output", "install", "markdown"])]
    page: Option<String>,
    /// Write all pages to this folder
    #[arg(short, long, value_name = "DIR", conflicts_with = "install")]
    output: Option<PathBuf>,
    /// Write all pages to the folder of your own where man looks for them
    #[arg(long)]
    install: bool,
    /// Print every command with its arguments as one page of Markdown
    #[arg(long, conflicts_with_all = ["output", "install"])]
    markdown: bool,
    /// With --install: only say which files these are
    #[arg(long, requires = "install")]
    dry_run: bool,
}

/// Stands in each page, so that a later version knows it as ours.
const MARK: &str = ".\\\" written by: loop man\n";

/// One page.
struct ManPage {
    name: String,
    text: Vec<u8>,
}

pub(crate) fn run(context: &Context, args: &ManArgs) -> Done {
    if args.markdown {
        context.printer.answer(&manual_page::page(programs()));
        return Ok(0);
    }
    let unable = |error: std::io::Error| CommandError::of(Kind::Unable, &error);
    let pages = pages().map_err(unable)?;
    let folder = match (&args.output, args.install) {
        (Some(folder), _) => folder.clone(),
        (None, true) => own_place::folder("XDG_DATA_HOME", ".local/share")?.join("man/man1"),
        (None, false) => return one(context, &pages, args.page.as_deref().unwrap_or("loop")),
    };
    let ours = |text: &[u8]| text.starts_with(MARK.as_bytes());
    let file = |page: ManPage| OwnFile { path: folder.join(format!("{}.1", page.name)), text: page.text, ours: &ours };
    let files: Vec<OwnFile<'_>> = pages.into_iter().map(file).collect();
    own_place::write(context, &files, args.dry_run)?;
    if args.install {
        context.printer.answer("read one: man 1 loop. If it is not found: man -M ~/.local/share/man loop\n");
    }
    Ok(0)
}

fn one(context: &Context, pages: &[ManPage], name: &str) -> Done {
    let is_it = |page: &&ManPage| page.name == name || page.name == format!("loop-{name}");
    let Some(page) = pages.iter().find(is_it) else {
        let names = pages.iter().map(|page| page.name.strip_prefix("loop-").unwrap_or(&page.name));
        let hint = nearest(name, names).map_or_else(|| "loop man".to_owned(), |near| format!("loop man {near}"));
        return Err(CommandError::new(Kind::Wrong, format!("there is no page {name:?}"))
            .because("there is one for loop, for each of its commands, for loopr and for loopd")
            .hint(hint));
    };
    context.printer.answer(&String::from_utf8_lossy(&page.text));
    Ok(0)
}

/// The programs as they are parsed.
pub(super) fn programs() -> Vec<Command> {
    vec![Cli::command(), loopr::command(), loopd::command()]
}

/// All pages.
fn pages() -> std::io::Result<Vec<ManPage>> {
    let mut pages = Vec::new();
    for command in programs() {
        add(command.disable_help_subcommand(true), &mut pages)?;
    }
    Ok(pages)
}

/// Adds the page of a command and those of its commands.
fn add(mut command: Command, pages: &mut Vec<ManPage>) -> std::io::Result<()> {
    command.build();
    let below: Vec<Command> = command.get_subcommands().filter(|sub| !sub.is_hide_set()).cloned().collect();
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let mut text = MARK.as_bytes().to_vec();
    let release = format!("loop {}", env!("CARGO_PKG_VERSION"));
    Man::new(command).title(name.clone()).section("1").source(release).manual("loop").date("").render(&mut text)?;
    pages.push(ManPage { name, text });
    below.into_iter().try_for_each(|sub| add(sub, pages))
}
