//! Go modules.
use super::{Candidate, CheckUse, Language, Part};

pub(super) fn candidates(part: &Part<'_>) -> Vec<Candidate> {
    if !part.has("go.mod") {
        return Vec::new();
    }
    let check = |shows, command: &str, reason: String| part.check(shows, Language::Go, command, reason);
    let reason = format!("{} is a module", part.path("go.mod"));
    let mut found = vec![check(CheckUse::Test, "go test ./...", reason.clone())];
    let config = [".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"];
    match part.first(&config) {
        Some(config) => {
            found.push(check(CheckUse::Lint, "golangci-lint run", format!("there is {}", part.path(config))));
        }
        None => found.push(check(CheckUse::Lint, "go vet ./...", format!("{reason}, and vet comes with go"))),
    }
    found.push(check(CheckUse::Build, "go build ./...", reason));
    if let Some(line) = part.ci.line("govulncheck") {
        found.push(check(CheckUse::Audit, &line.command, format!("{} runs it", line.file)));
    }
    found
}
