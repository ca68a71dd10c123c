//! Texts of new templates: from a run, and to begin with.
use toml_edit::{DocumentMut, value};

use super::PROMPT_MARK;
use crate::settings::{Key, Layer, Resolved, SettingsError, catalogue, keys, set_in_toml};
use crate::text;

/// What of a task is quoted in a comment.
const TASK_LETTERS_MAX: usize = 200;

/// A text to begin with.
#[must_use]
pub fn starting_text(name: &str) -> String {
    format!(
        "# The template {name}: loop start \"…\" --template {name}\n\
         # What each key means: loop template show bugfix, and docs/guide/templates.md. Flags count more.\n\
         description = \"{name}\"\n\
         \n\
         # What the agent gets. {PROMPT_MARK} is the prompt of loop start.\n\
         goal = \"\"\"\n\
         {PROMPT_MARK}\n\
         \n\
         Keep every test that is there.\n\
         \"\"\"\n\
         \n\
         # Let the agent work although the gates pass at the start.\n\
         work_first = true\n\
         require_tests_kept = true\n\
         # max_iterations = 10\n\
         # protect = [\"/docs/\"]\n\
         \n\
         # What shows that it is done: a command, or what the project has (test, lint, types, build, bench, audit).\n\
         # promise = \"make test\"\n\
         promise = {{ find = \"test\" }}\n\
         \n\
         # [gates.lint]\n\
         # find = \"lint\"\n\
         # watch = true\n"
    )
}

/// A template with the settings that a run was given. `goal` is that of its template, if it had one.
///
/// # Errors
/// When a value cannot be written as TOML.
pub fn text_of_run(id: &str, settings: &Resolved, task: &str, goal: Option<&str>) -> Result<String, SettingsError> {
    let mut document = DocumentMut::new();
    document.insert("description", value(format!("as loop {id}")));
    document.insert("goal", value(format!("{}\n", goal.unwrap_or(PROMPT_MARK))));
    let mut body = document.to_string();
    for key in catalogue().filter(|key| is_taken(key, settings)) {
        body = set_in_toml(&body, "the template", key, settings.text(key))?;
    }
    let task = text::one_line(task, TASK_LETTERS_MAX);
    Ok(format!("# Made from loop {id}, whose task was: {task}\n{body}"))
}

/// Whether a setting of a run belongs into a template: somebody set it, and it is not about this run, this machine, or a
/// secret.
fn is_taken(key: &'static Key, settings: &Resolved) -> bool {
    let of_one_run = [
        keys::template(),
        keys::project(),
        keys::agent_name(),
        keys::inject(),
        keys::stop_file(),
        keys::container(),
        keys::container_socket(),
        keys::agent_env(),
        keys::secrets(),
        keys::auto_confirm(),
        keys::allow_any_workspace(),
    ];
    // What the user's own file says counts without a template.
    let is_set = settings.origin(key).is_some_and(|origin| origin.layer > Layer::User);
    key.in_file && is_set && !settings.text(key).is_empty() && !of_one_run.contains(&key)
}
