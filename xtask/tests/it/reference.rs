//! Pages that are written from the code are as the code is.
use loop_core::settings::reference;
use xtask::{Tree, manual, markdown, workspace_root};

fn committed(path: &str) -> String {
    std::fs::read_to_string(workspace_root().join("docs/reference").join(path)).unwrap_or_default()
}

#[test]
fn the_reference_page_and_the_schema_are_up_to_date() {
    assert!(committed("settings.md") == markdown::wrapped_page(&reference::page()), "run `cargo xtask generate`");
    assert!(committed("settings.schema.json") == reference::schema(), "run `cargo xtask generate`");
    assert!(committed("workflow.schema.json") == loop_core::workflow::schema(), "run `cargo xtask generate`");
}

#[test]
fn the_pages_of_words_and_of_other_keys_are_up_to_date() -> anyhow::Result<()> {
    // req: A-33 partly: states, outcomes, reasons, exit codes and keys
    let tree = Tree::load(&workspace_root())?;
    assert!(committed("words.md") == manual::words_page(&tree)?, "run `cargo xtask generate`");
    assert!(committed("keys.md") == manual::names_page(&tree)?, "run `cargo xtask generate`");
    Ok(())
}
