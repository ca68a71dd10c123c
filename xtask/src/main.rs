//! `cargo xtask <command>`: the command line over the library.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore speaks to the one who runs it")]

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use loop_core::settings::reference;
use loop_core::workflow;
use xtask::{
    Finding, Tree, bench, cheats, clauses, deb, ledger, manual, markdown, mutants, picture, projects, rules, tags,
    tidy, workspace_root,
};

const USAGE: &str = "\
Usage: cargo xtask <command>

Commands:
  tidy             check the house rules; prints path:line: what is wrong, and what to do
  tidy --write-counts   write how many banned words each folder still has (.config/banned-words.txt)
  generate         write docs/reference from the code and the built program, and the ledger
  ledger           write the states in docs/requirements.md from the tags in the tests and from the listed clauses
  ledger --check   only say whether they are up to date
  bench            measure what loop itself costs, against its limits (minutes; for a machine that is otherwise idle)
                   --quick, --json, --only NAME, --loop PATH
                   --smoke: each measurement once, without limits, to see that all of them work
  cheats           play cheating agents and their honest twins against the built program (docs/cheats.md)
                   --sample, --runner NAME, --case NAME, --json, --jobs N, --limit SECONDS, --list, --alone, --keep,
                   --loop PATH
  projects         honest work in ten kinds of projects, judged as by default, then `loop verify` (docs/projects.md)
                   --only NAME, --verify N, --user NUMBER, --build N, --limit SECONDS, --json, --list, --keep,
                   --loop PATH
  deb              a Debian package with programs, manual and completions, in target/debian
                   --profile release|debug, --output DIR, --no-build
  picture          write docs/picture/demo.svg: the screen of `loop demo`
                   --loop PATH
  mutants          change the judging code in small ways; a test of core must fail each time (docs/mutants.md)
                   --file GLOB, --diff FILE, --sample N, --seed N, --only ID, --again, --quick, --jobs N, --list, --json
";

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["tidy", "--write-counts"] => write_counts(),
        ["tidy"] => Ok(tell(&tidy(&load()?))),
        ["ledger", "--check"] => Ok(tell(&rules::ledger::check(&load()?))),
        ["ledger"] => write_ledger(),
        ["generate"] => {
            write_reference()?;
            write_ledger()
        }
        ["bench", words @ ..] => run_bench(words),
        ["cheats", words @ ..] => run_cheats(words),
        ["projects", words @ ..] => run_projects(words),
        ["deb", words @ ..] => {
            println!("{}", deb::run(&deb::DebOptions::read(words)?)?.display());
            Ok(ExitCode::SUCCESS)
        }
        ["picture"] => write_picture(None),
        ["picture", "--loop", program] => write_picture(Some(Path::new(program))),
        ["mutants", words @ ..] => run_mutants(words),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        _ => bail!("no such command: `{}`\n\n{USAGE}", words.join(" ")),
    }
}

fn write_picture(program: Option<&Path>) -> Result<ExitCode> {
    let place = picture::place();
    fs::write(&place, picture::run(program)?).with_context(|| format!("cannot write {}", place.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn run_bench(words: &[&str]) -> Result<ExitCode> {
    let options = bench::Options::read(words)?;
    let figures = bench::run(&options, &|text| eprintln!("{text} …"))?;
    let told = if options.json { bench::figure::json(&figures) } else { bench::figure::table(&figures) };
    print!("{told}");
    Ok(match options.effort {
        bench::Effort::Smoke => bench::figure::all_measured(&figures),
        bench::Effort::Full | bench::Effort::Quick => bench::figure::exit_code(&figures),
    })
}

fn run_cheats(words: &[&str]) -> Result<ExitCode> {
    let options = cheats::PlayOptions::read(words)?;
    if options.list {
        for case in cheats::picked(&options)? {
            println!("{:<36} {:<24} {:<9} {}", case.name, case.class, case.expected.word(), case.promise);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let played = cheats::run(&options, &|text| eprintln!("{text}"))?;
    print!("{}", if options.json { cheats::table::to_json(&played) } else { cheats::table::table(&played) });
    Ok(cheats::table::exit_code(&played))
}

fn run_projects(words: &[&str]) -> Result<ExitCode> {
    let options = projects::ProjectOptions::read(words)?;
    if options.list {
        for case in projects::picked(&options)? {
            println!("{:<32} {:<24} {}", case.name, case.class, case.promise);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let played = projects::run(&options, &|text| eprintln!("{text}"))?;
    print!("{}", if options.json { projects::table::to_json(&played) } else { projects::table::table(&played) });
    Ok(projects::table::exit_code(&played))
}

fn run_mutants(words: &[&str]) -> Result<ExitCode> {
    let options = mutants::MutantOptions::read(words)?;
    if options.list {
        let listed = mutants::list_all(&workspace_root())?;
        let picked = mutants::picked(&options, &listed.mutants)?;
        for mutant in listed.mutants.iter().filter(|mutant| picked.contains(&mutant.id)) {
            let left_out = mutant.left_out.map_or(String::new(), |why| format!(" (left out: {why})"));
            let mutants::list::Mutant { id, file, line, function, what, .. } = mutant;
            println!("{id} {file}:{line}: {function}: {what}{left_out}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let tried = mutants::run(&options, &|text| eprintln!("{text}"))?;
    print!("{}", if options.json { mutants::table::to_json(&tried) } else { mutants::table::table(&tried) });
    Ok(mutants::table::exit_code(&tried))
}

fn load() -> Result<Tree> {
    let root = workspace_root();
    Tree::load(&root).with_context(|| format!("cannot load the workspace at {}", root.display()))
}

fn tell(findings: &[Finding]) -> ExitCode {
    for finding in findings {
        println!("{finding}");
    }
    if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn write_counts() -> Result<ExitCode> {
    let text = rules::words::counted(&load()?);
    let path = rules::words::COUNTS;
    fs::write(workspace_root().join(path), text).with_context(|| format!("cannot write {path}"))?;
    Ok(ExitCode::SUCCESS)
}

fn write_reference() -> Result<()> {
    let tree = load()?;
    let folder = workspace_root().join("docs/reference");
    fs::create_dir_all(&folder).context("cannot make docs/reference")?;
    let files = [
        ("settings.md", markdown::wrapped_page(&reference::page())),
        ("settings.schema.json", reference::schema()),
        ("workflow.schema.json", workflow::schema()),
        ("words.md", manual::words_page(&tree)?),
        ("keys.md", manual::names_page(&tree)?),
        ("commands.md", manual::commands_page()?),
    ];
    for (name, text) in files {
        fs::write(folder.join(name), text).with_context(|| format!("cannot write docs/reference/{name}"))?;
    }
    Ok(())
}

fn write_ledger() -> Result<ExitCode> {
    let tree = load()?;
    let file = tree.file(ledger::PATH).with_context(|| format!("{} is missing: create it first", ledger::PATH))?;
    let tags = tags::collect(&tree);
    let listed = clauses::read(tree.file(clauses::PATH).map_or("", |file| file.text.as_str()));
    let stale = ledger::stale(&file.text, &tags, &listed);
    if !stale.is_empty() {
        fs::write(workspace_root().join(ledger::PATH), ledger::rewrite(&file.text, &tags, &listed))
            .with_context(|| format!("cannot write {}: is it read-only?", ledger::PATH))?;
    }
    for (row, state) in &stale {
        println!("{}: {} → {state}", row.id, row.state.as_deref().unwrap_or_default());
    }
    Ok(tell(&rules::ledger::check(&load()?)))
}
