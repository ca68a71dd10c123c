//! ralphex: `.ralphex/config`, its prompts, and the plans in `docs/plans`.
use super::account::{KeyRule, KeyRules, LinesOfSource, Mapping, OTHER_COMMAND, UNKNOWN_KEY};
use super::agent_flags;
use super::assignments::of_ini;
use super::task_list::{Boxes, LATER, prompt};
use super::tool::{ImportSource, SourceFile};
use crate::settings::keys;

const PLANS: &str = "docs/plans";
/// The heading under which a plan names its checks.
const CHECKS: &str = "validation commands";
const OWN_WORDS: &str = "loop reads the errors and limits that the provider reports, not words of the output";
const OWN_REVIEW: &str = "loop has no review phase; a gate can run a review";
const OWN_NOTICE: &str = "loop has one notification_cmd, with a title and a text as arguments";
const OWN_GIT: &str = "loop works on the branch that is checked out; see --commit";
const OWN_LOOKS: &str = "about its own screen";

/// The keys that need no thought.
const RULES: KeyRules = &[
    ("iteration_delay_ms", KeyRule::Milliseconds(keys::delay(), "none")),
    ("max_iterations", KeyRule::To(keys::max_iterations(), "")),
    ("session_timeout", KeyRule::To(keys::timeout(), "")),
    ("idle_timeout", KeyRule::To(keys::idle_timeout(), "")),
    ("wait_on_limit", KeyRule::Left("loop waits as long as the provider says; see on_failure")),
    ("task_retry_count", KeyRule::Left("a failed iteration is followed by the next one, up to max_iterations")),
    ("codex_sandbox", KeyRule::Left("you alone say what the agent may do: see --permissions")),
    ("pass_claude_md", KeyRule::Left("files that an agent reads by itself are its own affair")),
    ("preserve_anthropic_api_key", KeyRule::Left("see agent_env and loop agents claude")),
    ("codex_timeout_ms", KeyRule::Left(OWN_REVIEW)),
    ("finalize_enabled", KeyRule::Left(OWN_REVIEW)),
    ("review_patience", KeyRule::Left(OWN_REVIEW)),
    ("max_external_iterations", KeyRule::Left(OWN_REVIEW)),
    ("external_review_tool", KeyRule::Left(OWN_REVIEW)),
    ("custom_review_script", KeyRule::Left(OWN_REVIEW)),
    ("codex_enabled", KeyRule::Left(OWN_REVIEW)),
    ("plan_model", KeyRule::Left("loop makes no plans")),
    ("review_model", KeyRule::Left(OWN_REVIEW)),
    ("use_worktree", KeyRule::Left("work in copies is a matter of `loop workflow` and --best-of")),
    ("move_plan_on_completion", KeyRule::Left("loop moves no file of yours")),
    ("plans_dir", KeyRule::Later("where the plans are; a later command reads lists of tasks")),
    ("default_branch", KeyRule::Left(OWN_GIT)),
    ("vcs_command", KeyRule::Left(OWN_GIT)),
    ("commit_trailer", KeyRule::Left(OWN_GIT)),
    ("watch_dirs", KeyRule::Left(OWN_LOOKS)),
];

/// Maps what was found.
pub(super) fn map(source: &ImportSource) -> Mapping {
    let mut mapping = Mapping::default();
    let is_config = |file: &&SourceFile| file.name == ".ralphex/config" || file.name == "config";
    let config = source.files.iter().find(is_config);
    if source.files.iter().any(|file| !file.name.ends_with(".md")) {
        mapping.set(
            LinesOfSource::tool("ralphex runs Claude Code where nothing else is said"),
            keys::agent(),
            "claude",
        );
    }
    if let Some(file) = config {
        map_config(&mut mapping, file);
    }
    let plans: Vec<&SourceFile> = source.files.iter().filter(|file| file.name.ends_with(".md")).collect();
    let is_open = |plan: &&&SourceFile| Boxes::of(&plan.text).open > 0;
    let first = plans.iter().find(is_open).copied();
    for file in source.files.iter().filter(|file| file.name.ends_with(".txt")) {
        map_prompt(&mut mapping, file, first);
    }
    for plan in &plans {
        map_plan(&mut mapping, plan, first.is_some_and(|first| first.name == plan.name));
    }
    if let Some(plan) = first {
        if mapping.prompt.is_none() {
            mapping.make_prompt(prompt(&plan.name));
        }
        if plans.iter().filter(is_open).count() > 1 {
            mapping.notes.push(format!("several plans are open; the prompt is for {}", plan.name));
        }
    }
    mapping
}

/// The folder of the plans, if it is below the project.
pub(super) fn plans_folder(files: &[SourceFile]) -> Option<String> {
    let config = files.iter().find(|file| file.name == ".ralphex/config");
    let set = config.and_then(|file| of_ini(&file.text).into_iter().rfind(|line| line.name == "plans_dir"));
    let folder = set.map(|line| line.value.shown()).filter(|folder| !folder.is_empty());
    let folder = folder.unwrap_or_else(|| PLANS.to_owned());
    let folder = folder.trim_start_matches("./").trim_end_matches('/');
    let is_below = !folder.starts_with('/') && folder.split('/').all(|name| !["", ".", ".."].contains(&name));
    is_below.then(|| folder.to_owned())
}

fn map_config(mapping: &mut Mapping, file: &SourceFile) {
    let lines = of_ini(&file.text);
    let is_codex = lines.iter().any(|line| line.name == "executor" && line.value.shown() == "codex");
    for line in lines {
        let value = line.value.shown();
        let at = LinesOfSource {
            file: file.name.clone(),
            from: line.from,
            to: line.to,
            what: line.name,
            value: value.clone(),
        };
        if value.is_empty() {
            mapping.left(at, "it is empty, which means the default");
            continue;
        }
        match at.what.as_str() {
            "executor" if ["claude", "codex"].contains(&value.as_str()) => mapping.set(at, keys::agent(), &value),
            "claude_command" if value == "claude" => mapping.left(at, "what loop runs, too"),
            "codex_command" if value == "codex" => mapping.left(at, "what loop runs, too"),
            "executor" | "claude_command" | "codex_command" => mapping.left(at, OTHER_COMMAND),
            "claude_args" if is_codex => mapping.left(at, "for Claude Code, and the executor is codex"),
            "claude_args" => agent_flags::map(mapping, &at, &value),
            "task_model" => map_model(mapping, at, &value),
            "codex_model" if is_codex => mapping.set(at, keys::agent_model(), &value),
            "codex_reasoning_effort" if is_codex => {
                mapping.set(at, keys::agent_args(), &format!("-c model_reasoning_effort={value}"));
            }
            "codex_model" | "codex_reasoning_effort" => mapping.left(at, OWN_REVIEW),
            name if name.ends_with("_patterns") => mapping.left(at, OWN_WORDS),
            name if name.starts_with("color_") => mapping.left(at, OWN_LOOKS),
            "notify_channels" => mapping.set(at, keys::notify(), "true"),
            name if name.starts_with("notify_") => mapping.left(at, OWN_NOTICE),
            _ if mapping.follow(&at, RULES, &value) => {}
            _ => mapping.left(at, UNKNOWN_KEY),
        }
    }
}

/// `opus`, `opus:high` or `:high`.
fn map_model(mapping: &mut Mapping, at: LinesOfSource, value: &str) {
    let (model, effort) = value.split_once(':').unwrap_or((value, ""));
    if !effort.is_empty() {
        let at = LinesOfSource { value: format!(":{effort}"), ..at.clone() };
        mapping.left(at, "give the effort to the agent itself, by its own flag behind --");
    }
    if !model.is_empty() {
        mapping.set(LinesOfSource { value: model.to_owned(), ..at }, keys::agent_model(), model);
    }
}

/// The prompt of the task phase; the others belong to phases that loop does not have.
fn map_prompt(mapping: &mut Mapping, file: &SourceFile, plan: Option<&SourceFile>) {
    let whole = LinesOfSource::whole(&file.name, &file.text, "a prompt");
    if file.name.rsplit('/').next() != Some("task.txt") {
        return mapping.left(whole, "a prompt of a phase that loop does not have");
    }
    // ralphex takes the lines of comments at the top out itself.
    let comments = file.text.lines().take_while(|line| line.starts_with('#') || line.trim().is_empty()).count();
    let rest: String = file.text.split_inclusive('\n').skip(comments).collect();
    if comments > 0 {
        let at = LinesOfSource { to: comments, what: "comments".to_owned(), ..whole.clone() };
        mapping.left(at, "comments of ralphex, not for the agent");
    }
    if rest.is_empty() {
        return;
    }
    let text = match plan {
        Some(plan) => rest.replace("{{PLAN_FILE}}", &plan.name),
        None => rest,
    };
    mapping.copy_prompt(LinesOfSource { from: comments + 1, ..whole }, text);
}

/// A plan: the list stays, the checks that it names are gates.
fn map_plan(mapping: &mut Mapping, plan: &SourceFile, is_first: bool) {
    let mut is_checks = false;
    for (line, number) in plan.text.lines().zip(1..) {
        if line.starts_with('#') {
            is_checks = line.trim_start_matches('#').trim().to_lowercase() == CHECKS;
        }
        let command = line.trim().strip_prefix(['-', '*']).map(str::trim);
        let command = command.and_then(|text| text.strip_prefix('`')?.split_once('`')).map(|(command, _)| command);
        let Some(command) = command.filter(|command| is_checks && !command.trim().is_empty()) else { continue };
        let at = LinesOfSource {
            file: plan.name.clone(),
            from: number,
            to: number,
            what: "a check".to_owned(),
            value: command.to_owned(),
        };
        if is_first {
            mapping.gate(at, command.split_whitespace().next().unwrap_or_default(), command);
        } else {
            mapping.left(at, "a check of another plan; give it by --gate when you work on that plan");
        }
    }
    let what = format!("a plan, {}", Boxes::of(&plan.text).words());
    mapping.later(LinesOfSource::whole(&plan.name, &plan.text, what), LATER);
}
