//! What a check of a proof found, and what that means. Without running the gates, a proof is a claim: the word is then
//! *claimed by*, never *verified*.
use serde::Serialize;

use super::claims::ProofClaims;
use crate::text::{self, NameList};
use crate::view::{JSON_VERSION, VerifiedGate};

/// The longest untrusted text in one line.
const LETTERS_MAX: usize = 200;

/// Who signed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum SignatureTrust {
    /// A key that the allowed signers list.
    Trusted {
        /// Whose key, as that list has it.
        signer: String,
        /// Its fingerprint.
        key: String,
    },
    /// The signature is right; the key is in no list that was given.
    UnknownKey {
        /// Its fingerprint.
        key: String,
    },
    /// There is no signature.
    Unsigned,
    /// The signature is not right for this content, or not for this purpose.
    Bad {
        /// Why.
        why: String,
    },
}

/// Whether it is about this checkout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum TreeMatch {
    /// The commit that is checked out has this tree.
    Head,
    /// The second parent of the commit has it: this is a merge of the branch that the proof is about.
    BranchTip,
    /// The files of the checkout are these, although git gives their commit another id.
    Files {
        /// Why the ids differ, where the proof says it.
        why: Option<String>,
    },
    /// Neither.
    Other {
        /// The first names that differ, where the repository has the other tree.
        names: NameList,
    },
    /// The files are these, but the proof leaves out others of this checkout.
    Partial {
        /// Which ones.
        names: NameList,
    },
    /// It could not be seen.
    Unseen {
        /// Why.
        why: String,
    },
    /// The files are of another content than their git tree says: one of the two hashes is wrong.
    Contradiction,
}

/// Whether its gates are those of the base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum GatesMatch {
    /// Every required gate of the base is there, by the same command, and passed.
    Same {
        /// Files that these commands name, and that are not as in the base.
        changed: Vec<String>,
    },
    /// Something is missing.
    Weaker {
        /// What, in a sentence each.
        why: Vec<String>,
    },
    /// It was not asked for.
    NotAsked,
}

/// The gates, run again here.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Rerun {
    /// It was not asked for.
    NotAsked,
    /// The commands are untrusted: neither the base nor a trusted key names them.
    Refused,
    /// They ran.
    Ran {
        /// What they said.
        gates: Vec<VerifiedGate>,
    },
}

/// What a check of a proof found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProofCheck {
    /// The version of this form.
    pub version: u32,
    /// Whether what was asked holds.
    pub holds: bool,
    /// The exit code of the command.
    pub exit_code: u8,
    /// The result in a sentence.
    pub why: String,
    /// The run that the proof is of.
    pub id: String,
    /// How it ended there.
    pub outcome: String,
    /// Whether loop judged it there, and nothing speaks against it.
    pub verified_there: bool,
    /// What speaks against it, as the proof says.
    pub against: Vec<String>,
    /// What stands beside the word *verified* there, such as *in the workspace only*; null where nothing does.
    pub qualification: Option<String>,
    /// What was found there and does not speak against it.
    pub noted: Vec<String>,
    /// Whether a gate failed before the first iteration; null where the proof does not say it.
    pub red_before: Option<bool>,
    /// How many tests failed then and pass now; null where that is not known.
    pub turned: Option<u64>,
    /// When, by the clock of that machine.
    pub at: String,
    /// The version of loop there.
    pub program: String,
    /// The kind of machine.
    pub platform: String,
    /// The git tree that the proof is about.
    pub git_tree: String,
    /// The hash of its files.
    pub sha256: Option<String>,
    /// What was left out of it.
    pub withheld: Vec<String>,
    /// A revision of its form that this program does not know: fields may be missing here.
    pub unknown_revision: Option<String>,
    /// Who signed it.
    pub signature: SignatureTrust,
    /// Further signatures.
    pub more_signatures: Vec<SignatureTrust>,
    /// Whether allowed signers were given.
    pub trust_given: bool,
    /// Whether it is about this checkout.
    pub tree: TreeMatch,
    /// Files of the checkout that are not as in its commit.
    pub dirty: NameList,
    /// Whether its gates are those of the base.
    pub gates: GatesMatch,
    /// The gates, run again here.
    pub run: Rerun,
    /// Gates that a program may leave out here. Nothing where there is any doubt.
    pub covered: Vec<String>,
    /// What a person should know to read the answer.
    pub hints: Vec<String>,
}

/// What each part of the check found.
#[derive(Debug, Clone)]
pub struct CheckResults {
    /// Each signature.
    pub signatures: Vec<SignatureTrust>,
    /// Whether allowed signers were given.
    pub trust_given: bool,
    /// Whether it is about this checkout.
    pub tree: TreeMatch,
    /// Files of the checkout that are not as in its commit.
    pub dirty: NameList,
    /// Whether its gates are those of the base.
    pub gates: GatesMatch,
    /// The gates, run again here.
    pub run: Rerun,
}

impl CheckResults {
    /// Whether a trusted key signed it, and no signature is wrong.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        matches!(self.signature(), SignatureTrust::Trusted { .. })
    }

    /// The signature that counts: a wrong one before all others, then a trusted one.
    fn signature(&self) -> SignatureTrust {
        let find = |is: fn(&SignatureTrust) -> bool| self.signatures.iter().find(|trust| is(trust));
        let bad = find(|trust| matches!(trust, SignatureTrust::Bad { .. }));
        let trusted = find(|trust| matches!(trust, SignatureTrust::Trusted { .. }));
        bad.or(trusted).or(self.signatures.first()).cloned().unwrap_or(SignatureTrust::Unsigned)
    }

    /// Whether its commands may be run: the base has the same, or a trusted key signed them.
    #[must_use]
    pub fn may_run(&self) -> bool {
        self.is_trusted() && !matches!(self.gates, GatesMatch::Weaker { .. })
            || matches!(self.gates, GatesMatch::Same { .. })
    }
}

impl ProofCheck {
    /// What the claims are worth after what was found.
    #[must_use]
    pub fn new(claims: &ProofClaims, found: CheckResults) -> Self {
        let signature = found.signature();
        let (exit_code, why) = judged(claims, &found, &signature);
        let line = |text: &String| text::one_line(text, LETTERS_MAX);
        let mut more = found.signatures;
        if let Some(at) = more.iter().position(|other| *other == signature) {
            more.remove(at);
        }
        Self {
            version: JSON_VERSION,
            holds: exit_code == 0,
            exit_code,
            why,
            id: line(&claims.id),
            outcome: line(&claims.outcome),
            verified_there: claims.verified,
            against: claims.against.iter().map(line).collect(),
            qualification: claims.qualification.as_ref().map(line),
            noted: claims.noted.iter().map(line).collect(),
            red_before: claims.red_before,
            turned: claims.turned,
            at: line(&claims.at),
            program: line(&claims.program),
            platform: line(&claims.platform),
            git_tree: claims.git_tree.clone(),
            sha256: claims.sha256.clone(),
            withheld: claims.withheld.iter().map(line).collect(),
            unknown_revision: claims.unknown_revision.as_ref().map(line),
            signature,
            more_signatures: more,
            trust_given: found.trust_given,
            tree: found.tree,
            dirty: found.dirty,
            gates: found.gates,
            run: found.run,
            covered: Vec::new(),
            hints: Vec::new(),
        }
    }
}

/// The exit code, and the same in a sentence.
fn judged(claims: &ProofClaims, found: &CheckResults, signature: &SignatureTrust) -> (u8, String) {
    if let SignatureTrust::Bad { why } = signature {
        return (1, format!("the signature is not right: {}", text::one_line(why, LETTERS_MAX)));
    }
    match &found.tree {
        TreeMatch::Head | TreeMatch::BranchTip | TreeMatch::Files { .. } => {}
        TreeMatch::Other { .. } => return (1, "the proof is about another tree than this checkout".to_owned()),
        TreeMatch::Partial { names } => {
            return (
                1,
                format!("the proof leaves out files of this checkout: {}", text::one_line(&names.words(), LETTERS_MAX)),
            );
        }
        TreeMatch::Unseen { why } => return (3, text::one_line(why, LETTERS_MAX)),
        TreeMatch::Contradiction => {
            let why = "the two hashes of the proof do not belong to the same files";
            return (1, why.to_owned());
        }
    }
    if let GatesMatch::Weaker { why } = &found.gates {
        return (1, format!("its gates are weaker than those of the base: {}", why.join("; ")));
    }
    if let Some(why) = not_passed(claims) {
        return (1, why);
    }
    if found.trust_given {
        match signature {
            SignatureTrust::Unsigned => {
                return (1, "it is not signed, and a trusted signature was asked for".to_owned());
            }
            SignatureTrust::UnknownKey { key } => {
                return (1, format!("it is signed by {key}, which the allowed signers do not list"));
            }
            SignatureTrust::Trusted { .. } | SignatureTrust::Bad { .. } => {}
        }
    }
    match &found.run {
        Rerun::Refused => {
            (4, "its commands were not run: no trusted key signed them, and the base does not name them".to_owned())
        }
        Rerun::Ran { gates } => judged_run(claims, &found.tree, gates),
        Rerun::NotAsked => match signature {
            SignatureTrust::Trusted { signer, key } => {
                (0, format!("claimed by {signer} ({key}): {}", claimed(claims, &found.tree)))
            }
            SignatureTrust::UnknownKey { .. } | SignatureTrust::Unsigned | SignatureTrust::Bad { .. } => {
                (4, format!("claimed, but not by a key that you trust: {}", claimed(claims, &found.tree)))
            }
        },
    }
}

/// Why the proof does not say that its gates passed.
fn not_passed(claims: &ProofClaims) -> Option<String> {
    let required = || claims.gates.iter().filter(|gate| gate.required);
    if required().next().is_none() {
        return Some("the proof names no gate that had to pass".to_owned());
    }
    let lost: Vec<String> = required().filter(|gate| !gate.has_passed()).map(|gate| gate.name.clone()).collect();
    let names = text::one_line(&lost.join(", "), LETTERS_MAX);
    (!lost.is_empty()).then(|| format!("the proof does not say that these required gates passed: {names}"))
}

/// What the proof claims, in words.
fn claimed(claims: &ProofClaims, tree: &TreeMatch) -> String {
    let required = claims.gates.iter().filter(|gate| gate.required);
    let names: Vec<String> = required.map(|gate| text::one_line(&gate.name, 40)).collect();
    let gates = text::one_line(&names.join(", "), LETTERS_MAX);
    // A merge can bring files of its own.
    let is_merge = *tree == TreeMatch::BranchTip;
    let place = if is_merge { "the branch's tip, not on the files of this merge" } else { "this tree" };
    format!("these gates passed on {place}: {gates}{}", qualified(claims))
}

/// What must stand beside the result: nothing where it is verified there without a qualification.
fn qualified(claims: &ProofClaims) -> String {
    let qualification = claims.qualification.as_ref().map(|words| text::one_line(words, LETTERS_MAX));
    match (claims.verified, qualification) {
        (true, None) => String::new(),
        (true, Some(words)) => format!("; there: {words}"),
        (false, _) => {
            let against = claims.against.iter().map(|why| text::one_line(why, LETTERS_MAX)).collect::<Vec<_>>();
            let who = if claims.accepted { "a person accepted it, it" } else { "it" };
            format!("; there {who} is not verified: {}", against.join("; "))
        }
    }
}

fn judged_run(claims: &ProofClaims, tree: &TreeMatch, gates: &[VerifiedGate]) -> (u8, String) {
    let required = || gates.iter().filter(|gate| gate.required);
    let lost: Vec<String> =
        required().filter(|gate| !gate.passes()).map(|gate| format!("{} ({})", gate.name, gate.ended)).collect();
    if required().next().is_none() {
        return (1, "it has no required gate that could be run".to_owned());
    }
    if !lost.is_empty() {
        return (1, format!("not every required gate passes here: {}", lost.join(", ")));
    }
    let place = if *tree == TreeMatch::BranchTip { "merge" } else { "checkout" };
    (0, format!("every required gate passes here, on the files of this {place}{}", qualified(claims)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attestation::claims::ClaimedGate;
    use crate::attestation::covered_gates;
    use crate::policy::gate::Verdict;

    fn claims() -> ProofClaims {
        let (name, verdict) = ("promise".to_owned(), "pass".to_owned());
        let gate = ClaimedGate { name, verdict, required: true, ..ClaimedGate::default() };
        ProofClaims { verified: true, gates: vec![gate], ..ProofClaims::default() }
    }

    fn passing() -> VerifiedGate {
        VerifiedGate {
            name: "promise".to_owned(),
            command: "true".to_owned(),
            required: true,
            verdict: Verdict::Pass,
            recorded: None,
            exit_code: Some(0),
            signal: None,
            ended: String::new(),
            not_believed: None,
            tries: 1,
            duration_seconds: 0.0,
            output_sha256: String::new(),
            same_output: true,
            tests: None,
            failing: Vec::new(),
            said: String::new(),
            cases: Vec::new(),
        }
    }

    fn found() -> CheckResults {
        let trusted = SignatureTrust::Trusted { signer: "ann@x".to_owned(), key: "SHA256:a".to_owned() };
        CheckResults {
            signatures: vec![trusted],
            trust_given: true,
            tree: TreeMatch::Head,
            dirty: NameList::default(),
            gates: GatesMatch::NotAsked,
            run: Rerun::NotAsked,
        }
    }

    fn of(found: CheckResults) -> (u8, String) {
        let check = ProofCheck::new(&claims(), found);
        assert_eq!(check.holds, check.exit_code == 0);
        (check.exit_code, check.why)
    }

    #[test]
    fn without_a_run_a_proof_is_a_claim() {
        let (code, why) = of(found());
        assert_eq!((code, why.as_str()), (0, "claimed by ann@x (SHA256:a): these gates passed on this tree: promise"));
        let unsigned = CheckResults { signatures: Vec::new(), trust_given: false, ..found() };
        let (code, why) = of(unsigned);
        assert_eq!(code, 4);
        assert!(!why.contains("verified") && why.starts_with("claimed, but not by a key that you trust"), "{why}");
    }

    #[test]
    fn what_speaks_against_it_comes_before_a_trusted_key() {
        let bad = SignatureTrust::Bad { why: "x".to_owned() };
        let cases = [
            CheckResults { signatures: vec![found().signatures[0].clone(), bad], ..found() },
            CheckResults { tree: TreeMatch::Other { names: NameList::default() }, ..found() },
            CheckResults { tree: TreeMatch::Contradiction, ..found() },
            CheckResults { tree: TreeMatch::Partial { names: NameList::default() }, ..found() },
            CheckResults { gates: GatesMatch::Weaker { why: vec!["y".to_owned()] }, ..found() },
            CheckResults { signatures: Vec::new(), ..found() },
            CheckResults { signatures: vec![SignatureTrust::UnknownKey { key: "k".to_owned() }], ..found() },
            CheckResults { run: Rerun::Ran { gates: Vec::new() }, ..found() },
        ];
        for case in cases {
            assert_eq!(of(case.clone()).0, 1, "{case:?}");
        }
    }

    #[test]
    fn untrusted_commands_may_not_be_run() {
        let unknown = vec![SignatureTrust::UnknownKey { key: "k".to_owned() }];
        assert!(found().may_run());
        assert!(!CheckResults { signatures: unknown.clone(), trust_given: false, ..found() }.may_run());
        assert!(
            CheckResults { signatures: unknown, gates: GatesMatch::Same { changed: Vec::new() }, ..found() }.may_run()
        );
        assert!(!CheckResults { signatures: Vec::new(), ..found() }.may_run());
        assert!(!CheckResults { gates: GatesMatch::Weaker { why: Vec::new() }, ..found() }.may_run());
    }

    #[test]
    fn no_result_stands_without_what_qualifies_it() {
        let in_workspace = ProofClaims { qualification: Some("in the workspace only".to_owned()), ..claims() };
        let accepted = ProofClaims { verified: false, accepted: true, against: vec!["x".to_owned()], ..claims() };
        let odd = ProofClaims { verified: false, against: vec!["x".to_owned()], ..claims() };
        for run in [Rerun::NotAsked, Rerun::Ran { gates: vec![passing()] }] {
            let why = |claims: &ProofClaims| ProofCheck::new(claims, CheckResults { run: run.clone(), ..found() }).why;
            assert!(why(&in_workspace).ends_with("; there: in the workspace only"), "{}", why(&in_workspace));
            let end = "; there a person accepted it, it is not verified: x";
            assert!(why(&accepted).ends_with(end), "{}", why(&accepted));
            assert!(why(&odd).ends_with("; there it is not verified: x"), "{}", why(&odd));
        }
    }

    #[test]
    fn only_a_plain_pass_covers_gates_for_a_program() {
        let check = ProofCheck::new(&claims(), found());
        let own = ProofClaims { platform: "p".to_owned(), ..claims() };
        let names = |check: &ProofCheck| covered_gates(check, &own, None, "p");
        assert_eq!(names(&check), ["promise"]);
        assert_eq!(covered_gates(&check, &own, None, "q"), Vec::<String>::new());
        let same = |changed: &str| GatesMatch::Same { changed: vec![changed.to_owned()] };
        for other in [
            ProofCheck { holds: false, ..check.clone() },
            ProofCheck { verified_there: false, ..check.clone() },
            ProofCheck { qualification: Some("x".to_owned()), ..check.clone() },
            ProofCheck { dirty: NameList::of(["x"].into_iter()), ..check.clone() },
            ProofCheck { tree: TreeMatch::BranchTip, ..check.clone() },
            ProofCheck { gates: same("check.sh"), ..check.clone() },
            ProofCheck { unknown_revision: Some("2".to_owned()), ..check.clone() },
        ] {
            assert_eq!(names(&other), Vec::<String>::new(), "{other:?}");
        }
    }
}
