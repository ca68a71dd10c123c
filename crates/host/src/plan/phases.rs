//! A template of several loops, as a workflow: a loop for each of its phases, each after the one before.
use loop_core::settings::{Given, keys};
use loop_core::template::Template;
use loop_core::workflow::{self, Variables, WorkflowSource};

use super::workflow::{WorkflowRequest, WorkflowStart};
use crate::launch::{self, LaunchCaller, LaunchRequest};
use crate::paths::Home;
use crate::refusal::LaunchRefusal;

/// The workflow that a start asks for by its template; none where the template is one loop, or there is none.
///
/// # Errors
/// When the template or the prompt cannot be read, or one of its phases is not there.
pub fn phases_of_template(
    home: &Home,
    request: &LaunchRequest,
    caller: &mut dyn LaunchCaller,
) -> Result<Option<WorkflowRequest>, LaunchRefusal> {
    let Some(template) = launch::template_with_phases(home, request)? else { return Ok(None) };
    let of_one = [keys::commit(), keys::result()];
    if let Some(given) = request.given.iter().find(|given| of_one.contains(&given.key)) {
        let flag = given.key.flag.long;
        return Err(LaunchRefusal::wrong(format!("--{flag} does not go with the template {}", template.name))
            .because(format!("it is {} loops, one after the other", template.phases.len()))
            .hint(format!("leave --{flag} out")));
    }
    let prompt = launch::read_prompt(&request.task, caller)?;
    let text = text_of(&template, &prompt, &request.given);
    let file = format!("template {}", template.name);
    let workflow = workflow::read(WorkflowSource { text: &text, file: &file }, &Variables::default());
    let workflow = workflow.map_err(|errors| {
        let why = errors.first().map(ToString::to_string).unwrap_or_default();
        LaunchRefusal::wrong(format!("the template {} cannot be used", template.name)).because(why)
    })?;
    // Each loop has the template of its phase. What was typed holds for all of them.
    let given = request.given.iter().filter(|given| given.key != keys::template()).cloned().collect();
    Ok(Some(WorkflowRequest {
        workflow,
        path: file.into(),
        text,
        start: WorkflowStart { given, ..WorkflowStart::default() },
        workspace: request.workspace.clone(),
        dry_run: request.dry_run,
    }))
}

/// The workflow as a file would have it.
fn text_of(template: &Template, prompt: &str, typed: &[Given]) -> String {
    // Every text of JSON is one of YAML. What looks like a variable is text.
    let quoted = |text: &str| serde_json::Value::from(text.replace("{{", "{{{{")).to_string();
    let mut text = format!("name: {}\n", quoted(&template.name));
    // A limit for the money holds for all loops together.
    if let Some(budget) = typed.iter().rev().find(|given| given.key == keys::max_cost()) {
        text.push_str(&format!("budget: {}\n", quoted(&budget.value)));
    }
    text.push_str("loops:\n");
    let mut before: Option<&String> = None;
    for phase in &template.phases {
        let (id, prompt) = (quoted(phase), quoted(prompt));
        text.push_str(&format!("  - id: {id}\n    prompt: {prompt}\n    template: {id}\n"));
        if let Some(before) = before.replace(phase) {
            text.push_str(&format!("    depends_on: [{}]\n", quoted(before)));
        }
    }
    text
}
