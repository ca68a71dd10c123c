//! Whatever names all agents comes from one list, and an agent that is added to it appears everywhere.
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use loop_core::agent::{ADAPTERS, Adapter, adapter};
use loop_core::policy::protect::is_named_only;

/// An agent as somebody would add it: a value with its own name, and the rest as another has it.
pub(crate) fn added() -> Adapter {
    Adapter { name: "example", title: "Example CLI", tried: Some("1.2.3"), ..*adapter("cline").unwrap() }
}

/// The row of the guide for an agent.
fn guide_row(agent: &Adapter) -> String {
    let name = if agent.name == ADAPTERS[0].name { " (default)" } else { "" };
    let sessions = if agent.continues { "yes" } else { "no" };
    let tried = agent.tried.unwrap_or("*untried*");
    format!("| `{}`{name} | {} | {sessions} | {tried}", agent.name, agent.title)
}

/// What a person has to write by hand about an agent, and which of it is missing.
fn missing(agents: &[Adapter], readme: &str, guide: &str) -> Vec<String> {
    let mut missing = Vec::new();
    for agent in agents {
        if agent.behind_bridge {
            let row = guide.lines().find(|line| line.contains(&format!("`{}`", agent.name)));
            if !row.is_some_and(|row| agent.tried.is_some_and(|version| row.contains(version))) {
                missing.push(format!("docs/guide/agents.md: `{}` with {:?}", agent.name, agent.tried));
            }
            continue;
        }
        if !readme.lines().any(|line| line.starts_with("It drives ") && line.contains(agent.title)) {
            missing.push(format!("README.md: {}", agent.title));
        }
        let row = guide_row(agent);
        if !guide.lines().any(|line| line.starts_with(&row)) {
            missing.push(format!("docs/guide/agents.md: {row}"));
        }
    }
    missing
}

fn document(path: &str) -> String {
    let root: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", ".."].iter().collect();
    String::from_utf8(crate::bytes_of(root.join(path))).unwrap()
}

#[test]
fn readme_and_guide_have_every_agent_of_the_list_and_one_that_is_added_is_missed() {
    let (readme, guide) = (document("README.md"), document("docs/guide/agents.md"));
    assert_eq!(missing(ADAPTERS, &readme, &guide), Vec::<String>::new());
    let expected = ["README.md: Example CLI", "docs/guide/agents.md: | `example` | Example CLI | no | 1.2.3"];
    assert_eq!(missing(&[added()], &readme, &guide), expected);
    let rows = guide.lines().filter(|line| line.starts_with("| `") && line.matches(" | ").count() == 3).count();
    let own = ADAPTERS.iter().filter(|agent| !agent.behind_bridge).count();
    assert_eq!(rows, own + 4, "one row each, the head, two for the protocol, one for `custom`");
}

#[test]
fn the_doc_of_the_key_has_every_name_in_order() {
    let key = loop_core::settings::keys::agent();
    let names: Vec<&str> = ADAPTERS.iter().map(|agent| agent.name).collect();
    assert!(key.doc.starts_with(&format!("Which agent works: {}, custom (", names.join(", "))), "{}", key.doc);
    assert_eq!(key.default, names[0]);
}

#[test]
fn every_folder_of_an_agent_has_its_line_in_the_list() {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "src", "agent"].iter().collect();
    let text = |path: PathBuf| String::from_utf8(crate::bytes_of(path)).unwrap();
    let folders: BTreeSet<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| text(entry.path().join("mod.rs")).contains("const ADAPTER: Adapter"))
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    let listed: BTreeSet<String> =
        ADAPTERS.iter().filter(|agent| !agent.behind_bridge).map(|agent| agent.name.to_owned()).collect();
    assert_eq!(folders, listed, "the folder of an agent has its name");
    let names: BTreeSet<&str> = ADAPTERS.iter().map(|agent| agent.name).collect();
    assert_eq!(names.len(), ADAPTERS.len(), "names are unique");
}

#[test]
fn a_change_of_the_instructions_of_any_agent_is_named_and_what_agents_leave_is_not() {
    for agent in ADAPTERS {
        assert!(!agent.own_files.is_empty(), "{}: which files of a workspace tell it what to do?", agent.name);
        for file in agent.own_files {
            let path = if file.ends_with('/') { format!("{file}settings.json") } else { file.replace('*', "yml") };
            assert!(is_named_only(&path), "{}: {path}", agent.name);
        }
        for litter in agent.litter {
            assert!(!is_named_only(litter), "{}: {litter}", agent.name);
        }
    }
}
