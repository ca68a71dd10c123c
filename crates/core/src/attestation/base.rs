//! The gates of the base, compared with those of a proof: whether the proof has all of them, and which gates may be run.
//! The base is what the author of a branch cannot change.
use super::check::{GatesMatch, ProofCheck, Rerun, TreeMatch};
use super::claims::{ClaimedGate, ProofClaims};
use crate::policy::gate::Verdict;
use crate::settings::GateSpec;
use crate::text;

/// Programs, and the files that say what they do: each is read if it is there.
const READ_FIRST: [(&str, &[&str]); 8] = [
    ("make", &["GNUmakefile", "makefile", "Makefile"]),
    ("npm", &["package.json", ".npmrc"]),
    ("pnpm", &["package.json", ".npmrc", ".pnpmfile.cjs"]),
    ("yarn", &["package.json", ".yarnrc.yml", ".yarnrc"]),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("tox", &["tox.ini", "setup.cfg", "pyproject.toml"]),
    (
        "pytest",
        &[
            "pytest.toml",
            ".pytest.toml",
            "pytest.ini",
            ".pytest.ini",
            "conftest.py",
            "pyproject.toml",
            "tox.ini",
            "setup.cfg",
        ],
    ),
    ("cargo", &[".cargo/config.toml", ".cargo/config"]),
];

/// Where the gates of the base are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatesSource<'a> {
    /// A file of a revision.
    Revision {
        /// The revision.
        revision: &'a str,
        /// The path in its tree.
        path: &'a str,
    },
    /// A file on disk.
    File(&'a str),
}

impl<'a> GatesSource<'a> {
    /// What a text names. `REV:PATH` is always a revision, also where a file of that name exists: the author of a branch
    /// could add one. A path of a file that has a colon begins with `/`, `./` or `../`, as no revision does.
    #[must_use]
    pub fn of(text: &'a str) -> Self {
        let is_path = ["/", "./", "../"].iter().any(|beginning| text.starts_with(beginning));
        match text.split_once(':') {
            Some((revision, path)) if !is_path => Self::Revision { revision, path },
            Some(_) | None => Self::File(text),
        }
    }

    /// The folder of the repository that these gates are for; none where only the caller knows it.
    #[must_use]
    pub fn folder(&self) -> Option<Vec<u8>> {
        let Self::Revision { path, .. } = self else { return None };
        let mut names: Vec<&str> = path.split('/').filter(|name| !["", "."].contains(name)).collect();
        names.pop();
        Some(names.join("/").into_bytes())
    }
}

/// The gates of the base.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseGates {
    /// The gates.
    pub gates: Vec<GateSpec>,
    /// The folder of the repository that they are for, without slashes around; empty for the top.
    pub folder: Vec<u8>,
}

impl BaseGates {
    fn required(&self) -> impl Iterator<Item = &GateSpec> {
        self.gates.iter().filter(|gate| !gate.watch)
    }

    /// Whether the proof has every required gate of the base, for the same folder.
    #[must_use]
    pub fn compared(&self, claims: &ProofClaims) -> GatesMatch {
        let mut why = Vec::new();
        let folder = claims.scope.folder_bytes();
        if folder != self.folder {
            let shown = |folder: &[u8]| if folder.is_empty() { ".".to_owned() } else { text::escape_path(folder) };
            let (own, base) = (shown(&folder), shown(&self.folder));
            why.push(format!("the proof is about the folder {own}, these gates are for the folder {base}"));
        }
        for gate in self.required() {
            let same = || claims.gates.iter().filter(|claim| claim.has_command(&gate.command));
            let (name, command) = (&gate.name, text::escaped_head(&gate.command, 80));
            if same().any(|claim| is_as_strict(claim, gate) && claim.has_passed()) {
                continue;
            }
            if same().next().is_none() {
                why.push(format!("{name} ({command}) is not among them"));
            } else if !same().any(|claim| is_as_strict(claim, gate)) {
                why.push(format!("{name} ({command}) was run less strictly"));
            } else {
                why.push(format!("{name} ({command}) did not pass"));
            }
        }
        if why.is_empty() { GatesMatch::Same { changed: Vec::new() } } else { GatesMatch::Weaker { why } }
    }

    /// Files that decide what the required gates do: named in their commands, read first by their programs, or used by
    /// them as the proof says. The command can be unchanged while a file it uses was weakened.
    #[must_use]
    pub fn files(&self, claims: &ProofClaims) -> Vec<String> {
        let mut files = Vec::new();
        for gate in self.required() {
            files.extend(command_files(&gate.command));
            let claimed = claims.gates.iter().filter(|claim| claim.has_command(&gate.command));
            files.extend(claimed.flat_map(|claim| &claim.inputs).cloned());
        }
        let mut seen = std::collections::BTreeSet::new();
        files.retain(|file| seen.insert(file.clone()));
        files
    }
}

/// Whether a pass of this gate is at least a pass of that of the base: as many tries must pass, and no more may fail.
fn is_as_strict(claim: &ClaimedGate, gate: &GateSpec) -> bool {
    let ((need, all), base) = (claim.passes.unwrap_or((1, 1)), gate.needs());
    let tries = need >= base.passes && all.saturating_sub(need) <= base.tries.saturating_sub(base.passes);
    claim.required && tries && (gate.trust_exit || !claim.trust_exit) && gate.red == claim.red
}

/// Names of files in a command, and those that its programs read first.
fn command_files(command: &str) -> Vec<String> {
    let words = command.split(|letter: char| letter.is_whitespace() || "'\"();|&<>=`".contains(letter));
    let mut files = Vec::new();
    for word in words.filter(|word| !word.is_empty() && !word.starts_with(['-', '$', '/'])) {
        files.push(word.trim_start_matches("./").to_owned());
        let read = READ_FIRST.iter().filter(|(program, _)| *program == word).flat_map(|(_, files)| *files);
        files.extend(read.map(|file| (*file).to_owned()));
    }
    files
}

/// A gate to run, and what the proof says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateToRun {
    /// The gate: the base's own where the base has it.
    pub spec: GateSpec,
    /// What the proof says.
    pub claim: ClaimedGate,
}

/// The gates that are run: those of the base that the proof has, and where a trusted key signed it, its others too.
///
/// # Errors
/// Why a required gate of a trusted proof cannot be run, as a sentence.
pub fn gates_to_run(
    claims: &ProofClaims,
    base: Option<&BaseGates>,
    is_trusted: bool,
) -> Result<Vec<GateToRun>, String> {
    let of_base = base.map(|base| base.gates.as_slice()).unwrap_or_default();
    let mut all = Vec::new();
    for gate in of_base {
        let same = || claims.gates.iter().filter(|claim| claim.has_command(&gate.command));
        let best = same().find(|claim| is_as_strict(claim, gate) && claim.has_passed());
        let claim = best.or_else(|| same().next()).cloned();
        all.extend(claim.map(|claim| GateToRun { spec: gate.clone(), claim }));
    }
    let is_other = |claim: &&ClaimedGate| !of_base.iter().any(|gate| claim.has_command(&gate.command));
    for claim in claims.gates.iter().filter(is_other).filter(|_| is_trusted) {
        match claim.spec() {
            Some(spec) => all.push(GateToRun { spec, claim: claim.clone() }),
            None if claim.required => {
                let name = text::one_line(&claim.name, 60);
                return Err(format!("the proof has no command of the gate {name} that can be run, nor has the base"));
            }
            None => {}
        }
    }
    Ok(all)
}

/// Gates that a program may leave out here, by name. Nothing where there is any doubt: local changes, another platform,
/// another tree, a qualification, or files of the gates that are not as in the base.
#[must_use]
pub fn covered_gates(
    check: &ProofCheck,
    claims: &ProofClaims,
    base: Option<&BaseGates>,
    platform: &str,
) -> Vec<String> {
    let is_here = matches!(check.tree, TreeMatch::Head | TreeMatch::Files { .. }) && check.dirty.is_nothing();
    if !check.holds || !is_here {
        return Vec::new();
    }
    if let Rerun::Ran { gates } = &check.run {
        return gates.iter().filter(|gate| gate.required && gate.passes()).map(|gate| gate.name.clone()).collect();
    }
    let is_plain = check.verified_there && check.qualification.is_none() && check.unknown_revision.is_none();
    let changed = matches!(&check.gates, GatesMatch::Same { changed } if !changed.is_empty());
    if claims.platform != platform || !is_plain || changed {
        return Vec::new();
    }
    let plain = |name: &&str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    let names: Vec<&str> = match base {
        Some(base) => base.required().map(|gate| gate.name.as_str()).collect(),
        None => claims.gates.iter().filter(|gate| gate.required).map(|gate| gate.name.as_str()).collect(),
    };
    names.into_iter().filter(plain).map(str::to_owned).collect()
}

impl ClaimedGate {
    /// Whether it passed, as the proof says.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        self.verdict == Verdict::Pass.name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attestation::ClaimedScope;

    fn claim(passes: Option<(u32, u32)>) -> ClaimedGate {
        ClaimedGate {
            name: "own".to_owned(),
            command: Some("make test".to_owned()),
            required: true,
            verdict: "pass".to_owned(),
            passes,
            ..ClaimedGate::default()
        }
    }

    fn base(tries: Option<(u32, u32)>) -> BaseGates {
        BaseGates { gates: vec![GateSpec { tries, ..GateSpec::new("test", "make test") }], folder: Vec::new() }
    }

    fn claims(gates: Vec<ClaimedGate>) -> ProofClaims {
        ProofClaims { gates, ..ProofClaims::default() }
    }

    #[test]
    fn more_passes_and_fewer_failures_are_as_strict() {
        let is_same = |own, theirs| matches!(base(theirs).compared(&claims(vec![claim(own)])), GatesMatch::Same { .. });
        for (own, theirs) in [
            (None, None),
            (None, Some((1, 1))),
            (Some((3, 3)), Some((2, 3))),
            (Some((3, 3)), None),
            (Some((4, 5)), Some((2, 3))),
            (None, Some((1, 3))),
        ] {
            assert!(is_same(own, theirs), "{own:?} {theirs:?}");
        }
        for (own, theirs) in
            [(Some((2, 3)), None), (None, Some((2, 3))), (Some((2, 3)), Some((3, 3))), (Some((2, 4)), Some((2, 3)))]
        {
            assert!(!is_same(own, theirs), "{own:?} {theirs:?}");
        }
    }

    #[test]
    fn one_gate_of_the_proof_must_be_all_that_the_base_asks() {
        let watched = ClaimedGate { required: false, ..claim(None) };
        let failed = ClaimedGate { verdict: "fail".to_owned(), ..claim(None) };
        let trusting = ClaimedGate { trust_exit: true, ..claim(None) };
        for gates in [vec![], vec![watched.clone(), failed.clone()], vec![trusting, failed.clone()]] {
            assert!(matches!(base(None).compared(&claims(gates)), GatesMatch::Weaker { .. }));
        }
        let good = claims(vec![failed, watched, claim(None)]);
        assert_eq!(base(None).compared(&good), GatesMatch::Same { changed: Vec::new() });
        let run = gates_to_run(&good, Some(&base(None)), false).expect("it can be run");
        assert_eq!((run.len(), &run[0].spec.name, &run[0].claim), (1, &"test".to_owned(), &claim(None)));
    }

    #[test]
    fn gates_are_for_the_folder_of_their_file() {
        let of = |text| GatesSource::of(text).folder();
        assert_eq!(of("origin/main:.loop.toml"), Some(Vec::new()));
        assert_eq!(of("main:./a//b/loop.toml"), Some(b"a/b".to_vec()));
        for file in ["loop.toml", "./main:.loop.toml", "/a:b", "../a:b"] {
            assert_eq!(GatesSource::of(file), GatesSource::File(file));
        }
        let scope = ClaimedScope { folder: "sub".to_owned(), ..ClaimedScope::default() };
        let below = ProofClaims { scope, ..claims(vec![claim(None)]) };
        assert!(matches!(base(None).compared(&below), GatesMatch::Weaker { .. }));
        let base = BaseGates { folder: b"sub".to_vec(), ..base(None) };
        assert!(matches!(base.compared(&below), GatesMatch::Same { .. }));
    }

    #[test]
    fn the_files_of_a_gate_are_those_of_its_command_of_its_programs_and_of_the_proof() {
        let gate = ClaimedGate { inputs: vec!["tools/x.sh".to_owned(), "Makefile".to_owned()], ..claim(None) };
        let files = base(None).files(&claims(vec![gate]));
        assert_eq!(files, ["make", "GNUmakefile", "makefile", "Makefile", "test", "tools/x.sh"]);
        assert_eq!(command_files("sh -e './a.sh' \"$x\" /bin/b"), ["sh", "a.sh"]);
    }

    #[test]
    fn commands_that_only_the_proof_names_are_run_for_a_trusted_key_only() {
        let other = ClaimedGate { command: Some("echo".to_owned()), ..claim(None) };
        let withheld = ClaimedGate { command: None, ..claim(None) };
        let hidden = ClaimedGate { command: Some("echo \u{1b}[8m".to_owned()), ..claim(None) };
        let both = claims(vec![other, claim(None)]);
        assert_eq!(gates_to_run(&both, Some(&base(None)), false).map(|run| run.len()), Ok(1));
        assert_eq!(gates_to_run(&both, Some(&base(None)), true).map(|run| run.len()), Ok(2));
        assert_eq!(gates_to_run(&both, None, false), Ok(Vec::new()));
        for gate in [withheld, hidden] {
            assert!(gates_to_run(&claims(vec![gate.clone()]), None, true).is_err());
            let watched = ClaimedGate { required: false, ..gate };
            assert_eq!(gates_to_run(&claims(vec![watched]), None, true), Ok(Vec::new()));
        }
    }
}
