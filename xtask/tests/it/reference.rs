//! Pages that are written from the catalogue are as the catalogue is.
use loop_core::settings::reference;
use xtask::{markdown, workspace_root};

fn committed(path: &str) -> String {
    std::fs::read_to_string(workspace_root().join("docs/reference").join(path)).unwrap_or_default()
}

#[test]
fn the_reference_page_and_the_schema_are_up_to_date() {
    assert!(committed("settings.md") == markdown::wrapped_page(&reference::page()), "run `cargo xtask generate`");
    assert!(committed("settings.schema.json") == reference::schema(), "run `cargo xtask generate`");
    assert!(committed("workflow.schema.json") == loop_core::workflow::schema(), "run `cargo xtask generate`");
}
