//! The template of a start: which one, its layer of settings, and what it asks for.
use std::path::Path;

use loop_core::project::{CheckUse, ProjectProposals};
use loop_core::settings::{Given, Origin, keys};
use loop_core::template::{Template, TemplateLayer};
use loop_core::text;

use super::approval::{self, GivenApproval};
use super::caller::{LaunchCaller, LaunchNote};
use super::start::LaunchRequest;
use crate::paths::{Home, text_of};
use crate::project_scan::proposals;
use crate::refusal::LaunchRefusal;
use crate::settings_files::gather;
use crate::templates::{self, KnownTemplate, TemplateSource};

/// The template of a start.
#[derive(Debug)]
pub(super) struct StartTemplate {
    pub(super) template: Template,
    /// Its layer.
    pub(super) given: Vec<Given>,
    /// What it needs and nothing gave.
    pub(super) missing: Vec<CheckUse>,
    /// An approval that is to be stored when the run is made.
    pub(super) approval: Option<GivenApproval>,
}

impl StartTemplate {
    /// Says what the template looked for, where a gate is missing.
    pub(super) fn explain(&self, refusal: LaunchRefusal) -> LaunchRefusal {
        let missing: Vec<&str> = self.missing.iter().map(|missing| missing.word()).collect();
        if missing.is_empty() {
            return refusal;
        }
        let (name, what) = (&self.template.name, missing.join(", "));
        refusal.because(format!(
            "the template {name} looks for a command for this ({what}) and found none in this project"
        ))
    }
}

/// The template that these layers name, if they name one.
pub(super) fn choose(
    home: &Home,
    workspace: &Path,
    given: &[Given],
    flags: &[Given],
    caller: &mut dyn LaunchCaller,
) -> Result<Option<StartTemplate>, LaunchRefusal> {
    let Some(named) = named(given) else { return Ok(None) };
    let known = find(home, workspace, named)?;
    let approval = approval::template(home, &known, flags, caller)?;
    let template = known.read()?;
    refuse_phases(&template)?;
    note(&known, caller);
    let mut layer = layer_of(&template, workspace, given)?;
    if layer.missing.contains(&CheckUse::Test) {
        layer.missing.retain(|missing| *missing != CheckUse::Test);
        match asked(&template, caller)? {
            Some(promise) => layer.given.push(promise),
            None => layer.missing.push(CheckUse::Test),
        }
    }
    for found in &layer.found {
        let (name, command) = (&found.name, text::escaped(&found.command));
        caller.note(LaunchNote::progress(format!("note: {name}: {command} ({})", text::escaped(&found.reason))));
    }
    Ok(Some(StartTemplate { template, given: layer.given, missing: layer.missing, approval }))
}

/// The template of a start, where it has several loops. Nothing is asked: one of a project that has several loops must be
/// approved first, as it is.
///
/// # Errors
/// When there is no such template, it is wrong, or it is not approved.
pub fn template_with_phases(home: &Home, request: &LaunchRequest) -> Result<Option<Template>, LaunchRefusal> {
    let asked = request.workspace.clone().or_else(|| std::env::current_dir().ok());
    // A start says better what is wrong with the folder, too.
    let workspace = asked.and_then(|path| path.canonicalize().ok()).filter(|path| path.is_dir());
    let Some(workspace) = workspace else { return Ok(None) };
    let project = approval::approved_project(home, &workspace)?;
    let mut given = gather(&home.config, project)?;
    given.extend(request.given.iter().cloned());
    let Some(named) = named(&given) else { return Ok(None) };
    // A start says better what is wrong with it.
    let Ok(known) = find(home, &workspace, named) else { return Ok(None) };
    let Ok(template) = known.read() else { return Ok(None) };
    if template.phases.is_empty() {
        return Ok(None);
    }
    if !known.is_approved(home) {
        return Err(LaunchRefusal::wrong(format!("the template {} is not approved", known.name))
            .because("it comes with the repository, and says which loops are run")
            .hint(format!("look at it, then copy it: loop template create {0} --from {0}", known.name)));
    }
    Ok(Some(template))
}

/// A template of several loops cannot be used for one.
fn refuse_phases(template: &Template) -> Result<(), LaunchRefusal> {
    let Some(first) = template.phases.first() else { return Ok(()) };
    let (name, phases) = (&template.name, template.phases.join(", "));
    Err(LaunchRefusal::wrong(format!("the template {name} is not one loop"))
        .because(format!("it is {} loops, one after the other: {phases}", template.phases.len()))
        .hint(format!("all of them: loop start \"…\" --template {name}; for one loop: --template {first}")))
}

/// The layer of the template that these layers name, for a command that only looks: it asks nothing, and one that is not
/// approved is left out with a note.
///
/// # Errors
/// When there is no such template, or it is wrong.
pub fn layer_without_questions(
    home: &Home,
    workspace: &Path,
    given: &[Given],
) -> Result<(Vec<Given>, Option<String>), LaunchRefusal> {
    let Some(named) = named(given) else { return Ok((Vec::new(), None)) };
    let known = find(home, workspace, named)?;
    if !known.is_approved(home) {
        let note = format!("note: not approved, and so ignored: the template {} of {}", known.name, known.place());
        return Ok((Vec::new(), Some(note)));
    }
    Ok((layer_of(&known.read()?, workspace, given)?.given, None))
}

/// The value of the key `template` that counts.
fn named(given: &[Given]) -> Option<&Given> {
    given.iter().filter(|given| given.key == keys::template()).max_by_key(|given| given.origin.layer)
}

fn find(home: &Home, workspace: &Path, named: &Given) -> Result<KnownTemplate, LaunchRefusal> {
    let place = &named.origin.place;
    templates::find(home, Some(workspace), &named.value).map_err(|refusal| {
        let is_flag = place.starts_with("--");
        if is_flag { refusal } else { refusal.because(format!("{place} names it")) }
    })
}

fn layer_of(template: &Template, workspace: &Path, given: &[Given]) -> Result<TemplateLayer, LaunchRefusal> {
    // Only where something is looked for.
    let found = if template.wanted.is_empty() { Ok(ProjectProposals::default()) } else { proposals(workspace) };
    let found = found.map_err(|error| {
        LaunchRefusal::wrong(format!("cannot look at the project in {}", text_of(workspace))).because(error.to_string())
    })?;
    Ok(template.layer(&found, given))
}

/// Says which template it is, where a name could mean several.
fn note(known: &KnownTemplate, caller: &mut dyn LaunchCaller) {
    if known.replaces.is_empty() {
        return;
    }
    let whose = match known.source {
        TemplateSource::Own => "your own",
        TemplateSource::Project => "of this project",
        TemplateSource::BuiltIn => "built-in",
    };
    let others: Vec<&str> = known.replaces.iter().map(|source| source.word()).collect();
    let text = format!(
        "note: the template {} is {whose} ({}), not the {} one",
        known.name,
        known.place(),
        others.join(" or ")
    );
    caller.note(LaunchNote::progress(text));
}

/// A promise that a person gives now.
fn asked(template: &Template, caller: &mut dyn LaunchCaller) -> Result<Option<Given>, LaunchRefusal> {
    let question = format!(
        "The template {} needs a command that shows that the work is done, and found no test command here. Which one?",
        template.name
    );
    let Some(command) = caller.command(&question) else { return Ok(None) };
    let origin = Origin { layer: template.layer, place: "your answer".to_owned() };
    Ok(Some(Given::read_answer(keys::promise(), &command, origin)?))
}
