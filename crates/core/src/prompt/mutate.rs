//! Other forms of a prompt, for a loop that is stuck. The texts are fixed, but for those that an agent was asked for.
use super::material::Material;
use super::section::harmless;
use crate::policy::ladder::MutationKind;
use crate::run::PromptVariant;
use crate::settings::PromptForm;
use crate::text;

/// How many bytes of what failed so far the prompt shows at most.
const TRIED_BYTES_MAX: usize = 4 * 1024;
/// How many bytes of a task that an agent put in other words.
const MUTATION_BYTES_MAX: usize = 6 * 1024;
/// How many bytes of the task are said again at most.
const TASK_BYTES_MAX: usize = 2 * 1024;

/// What such a prompt ends with; none for the standard form.
pub(super) fn what_to_do_now(material: &Material<'_>) -> Option<String> {
    let now = match material.variant {
        PromptVariant::Standard => return None,
        PromptVariant::Fresh => fresh().to_owned(),
        // What an agent wrote for it, where one was asked.
        PromptVariant::Mutated(kind) if material.mutation.is_some() => {
            let words = text::head(material.mutation.unwrap_or_default().trim(), MUTATION_BYTES_MAX);
            format!("The task in another form ({}):\n\n{}", kind.word(), harmless(words))
        }
        PromptVariant::Mutated(MutationKind::Rephrase) => rephrase(material),
        PromptVariant::Mutated(MutationKind::Decompose) => decompose().to_owned(),
        PromptVariant::Mutated(MutationKind::Constrain) => constrain(material),
        PromptVariant::Mutated(MutationKind::Examples) => examples().to_owned(),
        PromptVariant::Mutated(MutationKind::Negative) => negative().to_owned(),
        PromptVariant::Mutated(MutationKind::Research) => research().to_owned(),
    };
    // Sections have other names in the other form.
    let now =
        if material.form == PromptForm::History { now.replace("gate-said-last", "Last Gate Result") } else { now };
    if !material.stuck {
        return Some(now);
    }
    let tried = tried(material);
    let tried = if tried.is_empty() {
        String::new()
    } else {
        format!("These iterations did not get further. Do not repeat what they did:\n{tried}\n\n")
    };
    Some(format!("The loop is stuck: the last iterations did not get the gates further.\n\n{tried}{now}"))
}

/// The task of a branch of a loop that is stuck: the goal, how this branch goes about it, and its form of the task with
/// what failed so far. The branch makes prompts of its own from it.
#[must_use]
pub fn branch_task(material: &Material<'_>, approach: &str) -> String {
    let form = what_to_do_now(material).map_or_else(String::new, |now| format!("\n\n{now}"));
    format!("{}\n\nHow to go about it this time: {approach}.{form}", material.goal)
}

/// What failed so far, the newest first.
fn tried(material: &Material<'_>) -> String {
    let mut listed = String::new();
    for line in material.tried.iter().rev() {
        let line = format!("- {}\n", harmless(&text::one_line(line, 300)));
        if listed.len() + line.len() > TRIED_BYTES_MAX {
            break;
        }
        listed.push_str(&line);
    }
    listed.trim_end().to_owned()
}

fn fresh() -> &'static str {
    "Begin again: read the code and the failure as if for the first time.\n\
     1. Work on one failure only: the first that gate-said-last shows.\n\
     2. Before you edit anything, find its cause and say it in one sentence, with the place in the code.\n\
     3. Then change the least that removes this cause, and run the gate's command for it."
}

fn rephrase(material: &Material<'_>) -> String {
    let task = text::head(material.goal.trim(), TASK_BYTES_MAX);
    let commands: Vec<String> =
        material.gates.iter().filter(|gate| !gate.watch).map(|gate| format!("    {}", gate.command)).collect();
    let result = if commands.is_empty() {
        "everything that the task asks for is there, and you have checked it".to_owned()
    } else {
        format!("these commands succeed in this folder:\n{}", commands.join("\n"))
    };
    format!(
        "The same task in other words. The wanted result is not an edit, but a state: {result}\n\
         Ask of each part of the task below what would be different in that state, and make it so.\n\n{}",
        harmless(task)
    )
}

fn decompose() -> &'static str {
    "Take the task apart:\n\
     1. List the smallest steps that are left, each with a check that shows that it is done.\n\
     2. Do only the first step in this iteration, and run its check.\n\
     3. The smallest failing part that gate-said-last shows is the first step. Leave everything else alone."
}

fn constrain(material: &Material<'_>) -> String {
    let names: Vec<String> = material
        .changed
        .iter()
        .rev()
        .take(10)
        .map(|name| format!("- {}", harmless(&text::escaped_head(name, 200))))
        .collect();
    let files = if names.is_empty() {
        "Before you edit, name the files that you will change: at most three.".to_owned()
    } else {
        format!(
            "Earlier iterations changed these files. Change at most three files, and say first why it is these:\n{}",
            names.join("\n")
        )
    };
    format!(
        "Work within limits:\n{files}\n\
         Change no test and no file of the gate. What passes now must still pass: run those tests again after each edit."
    )
}

fn examples() -> &'static str {
    "Work from an example:\n\
     1. Take the first failure that gate-said-last shows. Write down its input, what is expected, and what comes instead.\n\
     2. Find a place in this code where something like it works. Say what is different there.\n\
     3. Make the failing case like the working one."
}

fn negative() -> &'static str {
    "What you must not do:\n\
     - Do not try again what is listed above, in other words either.\n\
     - Do not change, skip or delete tests, and do not make the gate weaker.\n\
     - Do not catch or hide the error: remove its cause.\n\
     - Do not rewrite what works.\n\
     Choose a way that none of the earlier iterations took, and say why it is another one."
}

fn research() -> &'static str {
    "Read first, and edit after that:\n\
     1. Read every file that has a part in the first failure, and what calls it.\n\
     2. Run the failing check alone, and look at values on the way.\n\
     3. Write down three possible causes, and what would show that each is wrong. Try that.\n\
     4. Only then edit, for the one cause that is left."
}
