//! A proof to hand over, and what a check of one found: as lines, as Markdown, as JUnit XML, and for pull requests. Texts of
//! a proof are untrusted input.
use loop_core::attestation::statement::text_hash;
use loop_core::attestation::{GatesMatch, ProofCheck, Rerun, SignatureTrust, TreeMatch};
use loop_core::text;
use loop_core::view::{TestCounts, short_hash};
use loop_host::attestation::Exported;

use super::junit::{self, SuiteAbout};
use super::printer::{Paint, Printer};
use super::verified::{clean, code, gate_words, output_lines, plain};

/// A body of a pull request must be shorter than 65,536 characters.
const PR_LETTERS_MAX: usize = 60_000;
/// So many tests that turned green are shown.
const TURNED_MAX: usize = 50;
/// So much of a hash is in a trailer.
const TRAILER_TREE: usize = 12;
const TRAILER_HASH: usize = 16;

/// As lines.
pub(crate) fn text(check: &ProofCheck, printer: Printer) -> String {
    let paint = if check.holds { Paint::Good } else { Paint::Bad };
    let word = if check.holds { "ok" } else { "not ok" };
    let mut out = format!("{}: {}\n", printer.paint(paint, word), clean(&check.why));
    for (name, value) in lines(check) {
        out.push_str(&format!("  {name:<11}{value}\n"));
    }
    if let Rerun::Ran { gates } = &check.run {
        for gate in gates.iter().filter(|gate| !gate.passes()) {
            for line in output_lines(gate) {
                out.push_str(&format!("  {}: {line}\n", gate.name));
            }
        }
    }
    for hint in &check.hints {
        out.push_str(&format!("hint: {}\n", clean(hint)));
    }
    out
}

/// Each part of the answer, with its name.
fn lines(check: &ProofCheck) -> Vec<(String, String)> {
    let mut lines = vec![("signature".to_owned(), signature_words(&check.signature))];
    lines.extend(check.more_signatures.iter().map(|more| ("and".to_owned(), signature_words(more))));
    lines.push(("tree".to_owned(), tree_words(check)));
    if !check.dirty.is_nothing() {
        lines.push(("checkout".to_owned(), format!("differs from its commit: {}", clean(&check.dirty.words()))));
    }
    let gates = match &check.gates {
        GatesMatch::Same { changed } if changed.is_empty() => {
            "every required gate of the base is among them, by the same command".to_owned()
        }
        GatesMatch::Same { changed } => {
            let files = clean(&changed.join(", "));
            format!("the commands are those of the base; files that they name are not as in the base: {files}")
        }
        GatesMatch::Weaker { why } => format!("weaker than those of the base: {}", clean(&why.join("; "))),
        GatesMatch::NotAsked => "not compared with a base (--gates-from)".to_owned(),
    };
    lines.push(("gates".to_owned(), gates));
    match &check.run {
        Rerun::NotAsked => lines.push(("run".to_owned(), "not run here (--run)".to_owned())),
        Rerun::Refused => lines.push(("run".to_owned(), "refused: untrusted commands are not run".to_owned())),
        Rerun::Ran { gates } => lines.extend(gates.iter().map(|gate| (gate.name.clone(), gate_words(gate)))),
    }
    let (id, outcome, at) = (clean(&check.id), clean(&check.outcome), clean(&check.at));
    let by =
        format!("loop {id} ended as {outcome} at {at}, loop {} on {}", clean(&check.program), clean(&check.platform));
    lines.push(("claims".to_owned(), by));
    lines.extend(check.qualification.iter().map(|words| ("there".to_owned(), clean(words))));
    lines.extend(before_words(check).map(|words| ("before".to_owned(), words)));
    lines.extend(check.noted.iter().map(|words| ("noted".to_owned(), clean(words))));
    lines.extend(check.against.iter().map(|why| ("against".to_owned(), clean(why))));
    if !check.withheld.is_empty() {
        lines.push(("withheld".to_owned(), clean(&check.withheld.join(", "))));
    }
    if let Some(revision) = &check.unknown_revision {
        let why =
            format!("it has revision {}, which this loop does not know: parts of it are not shown", clean(revision));
        lines.push(("revision".to_owned(), why));
    }
    lines
}

/// How it was before the first iteration.
fn before_words(check: &ProofCheck) -> Option<String> {
    let gates = match check.red_before? {
        true => "a gate failed before the first iteration",
        false => "no gate failed before the first iteration",
    };
    let turned = check.turned.map(|count| format!("; tests that failed then and pass now: {count}"));
    Some(format!("{gates}{}", turned.unwrap_or_default()))
}

/// The gates that a program may leave out, one a line.
pub(crate) fn gates(check: &ProofCheck) -> String {
    check.covered.iter().map(|name| format!("{}\n", clean(name))).collect()
}

fn signature_words(trust: &SignatureTrust) -> String {
    match trust {
        SignatureTrust::Trusted { signer, key } => format!("{}, {key}", clean(signer)),
        SignatureTrust::UnknownKey { key } => format!("valid, by {key}, a key that you did not name"),
        SignatureTrust::Unsigned => "none".to_owned(),
        SignatureTrust::Bad { why } => format!("NOT valid: {}", clean(why)),
    }
}

fn tree_words(check: &ProofCheck) -> String {
    let tree = short_hash(&check.git_tree);
    match &check.tree {
        TreeMatch::Head => format!("{tree} is that of the commit that is checked out"),
        TreeMatch::BranchTip => format!("{tree} is that of the branch's tip, not of this merge"),
        TreeMatch::Files { why } => {
            let why = why.as_ref().map(|why| format!(" ({})", clean(why))).unwrap_or_default();
            format!("{tree} has the same files as this checkout{why}")
        }
        TreeMatch::Other { names } if names.is_nothing() => {
            format!("{tree} is another tree than that of this checkout")
        }
        TreeMatch::Other { names } => {
            format!("{tree} is another tree than that of this checkout: {}", clean(&names.words()))
        }
        TreeMatch::Partial { names } => {
            format!("{tree} leaves out files of this checkout: {}", clean(&names.words()))
        }
        TreeMatch::Unseen { why } => clean(why),
        TreeMatch::Contradiction => format!("{tree} and the sha256 of the proof are not of the same files"),
    }
}

/// As Markdown.
pub(crate) fn markdown(check: &ProofCheck) -> String {
    let word = if check.holds { "ok" } else { "not ok" };
    let mut out =
        format!("# Proof of loop {}: {word}\n\n{}\n\n| | |\n|---|---|\n", plain(&check.id), plain(&check.why));
    for (name, value) in lines(check) {
        out.push_str(&format!("| {} | {} |\n", plain(&name), plain(&value)));
    }
    if !check.hints.is_empty() {
        out.push('\n');
    }
    for hint in &check.hints {
        out.push_str(&format!("- {}\n", plain(hint)));
    }
    out
}

/// As JUnit XML: one suite for the proof, and one for each gate that ran.
pub(crate) fn junit(check: &ProofCheck) -> String {
    let cases = [
        ("signature", signature_words(&check.signature), is_signature_ok(check)),
        ("tree", tree_words(check), is_tree_ok(check)),
        ("gates", String::from("weaker than those of the base"), !matches!(check.gates, GatesMatch::Weaker { .. })),
        ("proof", check.why.clone(), check.holds),
    ];
    let about = SuiteAbout { id: &check.id, at: "", checkpoint: "", tree: &check.git_tree };
    // A reader of JUnit shows names: what qualifies the end stands in the name.
    let name = check.qualification.as_ref().map(|words| format!("proof, there: {words}"));
    let mut suites = vec![junit::Suite::plain(about, name.as_deref().unwrap_or("proof"), &cases)];
    if let Rerun::Ran { gates } = &check.run {
        suites.extend(gates.iter().map(|gate| junit::Suite::of(about, gate)));
    }
    junit::document(&format!("proof of loop {}", check.id), 0.0, &suites)
}

fn is_signature_ok(check: &ProofCheck) -> bool {
    match check.signature {
        SignatureTrust::Trusted { .. } => true,
        SignatureTrust::UnknownKey { .. } | SignatureTrust::Unsigned => !check.trust_given,
        SignatureTrust::Bad { .. } => false,
    }
}

fn is_tree_ok(check: &ProofCheck) -> bool {
    match check.tree {
        TreeMatch::Head | TreeMatch::BranchTip | TreeMatch::Files { .. } => true,
        TreeMatch::Other { .. } | TreeMatch::Partial { .. } | TreeMatch::Unseen { .. } | TreeMatch::Contradiction => {
            false
        }
    }
}

/// A trailer for a commit message.
pub(crate) fn trailer(exported: &Exported, line: &str) -> String {
    let hash = text_hash(line);
    let tree = exported.tree.git_tree.get(..TRAILER_TREE).unwrap_or(&exported.tree.git_tree);
    format!("Loop-Proof: {tree} sha256:{}", hash.get(..TRAILER_HASH).unwrap_or(&hash))
}

/// How a proof can be checked elsewhere.
pub(crate) struct HowToCheck {
    /// The command line.
    pub(crate) command: String,
    /// Whether it can succeed: else it only shows the claim.
    pub(crate) can_succeed: bool,
    /// What the reader needs for it: nothing, or a line.
    pub(crate) remark: String,
}

impl HowToCheck {
    /// The way that can succeed: with the gates of the base, or the keys that the reader trusts. Without both there is none.
    pub(crate) fn of(exported: &Exported, file: &str) -> Self {
        let has_project_file = exported.workspace().is_some_and(|workspace| workspace.join(".loop.toml").is_file());
        let is_signed = !exported.envelope.signatures.is_empty();
        let (options, remark) = match (has_project_file, is_signed) {
            (true, _) => (" --run --gates-from origin/main:.loop.toml", String::new()),
            (false, true) => (
                " --allowed-signers SIGNERS",
                "SIGNERS: a file with the keys that the reader trusts, as ssh-keygen reads it\n".to_owned(),
            ),
            (false, false) => (
                "",
                format!(
                    "it is not signed: elsewhere it is a claim that cannot be checked; sign it: loop proof {} --sign KEY\n",
                    exported.certificate.id
                ),
            ),
        };
        let can_succeed = has_project_file || is_signed;
        Self { command: format!("loop verify {file}{options}"), can_succeed, remark }
    }
}

/// A text for a pull request.
pub(crate) fn pull_request(exported: &Exported, line: &str) -> String {
    let certificate = &exported.certificate;
    let withheld = |place: String| exported.withheld.contains(&place);
    let head = match (&certificate.accepted, exported.envelope.signatures.first()) {
        (Some(accepted), _) => format!("Accepted by a person ({}), not verified by loop.", plain(&accepted.command)),
        (None, Some(signature)) => format!("The gates passed, claimed by `{}`.", signature.key),
        (None, None) => "The gates passed, claimed without a signature.".to_owned(),
    };
    let head = match loop_core::view::qualification(&exported.state).filter(|_| certificate.accepted.is_none()) {
        Some(words) => format!("{head} There: {}.", plain(&words)),
        None => head,
    };
    let mut out = format!(
        "### Proof of loop {}\n\n{head}\n\n| gate | command | verdict | tests |\n|---|---|---|---|\n",
        certificate.id
    );
    for (at, gate) in certificate.gates.iter().enumerate() {
        let command =
            if withheld(format!("gates[{at}].command")) { "withheld".to_owned() } else { code(&gate.command) };
        let tests = gate.tests.map(TestCounts::words).unwrap_or_default();
        out.push_str(&format!("| {} | {command} | {} | {tests} |\n", plain(&gate.name), gate.verdict.name()));
    }
    let mut item = |text: String| out.push_str(&format!("- {text}\n"));
    item(format!("Files: git tree `{}`", exported.tree.git_tree));
    if let Some(sha256) = &exported.tree.sha256 {
        item(format!("sha256 of the files: `{sha256}`"));
    }
    let has_private_strength = exported.withheld.iter().any(|place| place.starts_with("strength"));
    if let Some(strength) = certificate.strength.as_ref().filter(|_| !has_private_strength) {
        item(format!("Strength of the gates: {}", plain(&strength.text())));
    }
    if let times @ 1.. = exported.state.guard.times() {
        let iterations = if times == 1 { "1 iteration".to_owned() } else { format!("{times} iterations") };
        item(format!("Restored: the agent changed protected files in {iterations}; the gates ran with the originals"));
    }
    for (at, finding) in certificate.findings.iter().enumerate() {
        if !withheld(format!("findings[{at}].text")) {
            item(format!("Against it: {}", plain(&finding.text)));
        }
    }
    for (at, noted) in certificate.named.iter().enumerate() {
        if !withheld(format!("named[{at}].text")) {
            item(format!("Noted: {}", plain(&noted.text)));
        }
    }
    for (at, weaker) in certificate.weaker.iter().enumerate() {
        if !withheld(format!("weaker[{at}]")) {
            item(format!("Weaker: {}", plain(weaker)));
        }
    }
    for (at, name) in exported.turned.iter().flatten().take(TURNED_MAX).enumerate() {
        if !withheld(format!("turned.first[{at}]")) {
            item(format!("Turned green: {}", plain(name)));
        }
    }
    item(format!("`{}`", trailer(exported, line)));
    let how = HowToCheck::of(exported, "FILE");
    let what = if how.can_succeed { "Check" } else { "Look at" };
    let how = how.command;
    out.push_str(&format!("\n{what} it: `{how}`. It says that these commands passed on these files. It does not say that the work is right or safe.\n"));
    text::head(&out, PR_LETTERS_MAX).to_owned()
}
