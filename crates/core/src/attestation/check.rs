//! What a check of a proof found, and what that means. Without running the gates, a proof is a claim: the word is then
//! *claimed by*, never *verified*.
use serde::Serialize;

use super::claims::ProofClaims;
use crate::text::{self, NameList};
use crate::view::{JSON_VERSION, VerifiedGate};

/// The longest text of a stranger in one line.
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
    /// The commands are a stranger's: neither the base nor a trusted key names them.
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
    /// What a person should know to read the answer.
    pub hints: Vec<String>,
}

/// What was looked at.
#[derive(Debug, Clone)]
pub struct Looked {
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

impl Looked {
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
        let trusted = matches!(self.signature(), SignatureTrust::Trusted { .. });
        trusted && !matches!(self.gates, GatesMatch::Weaker { .. }) || matches!(self.gates, GatesMatch::Same { .. })
    }
}

impl ProofCheck {
    /// What the claims are worth after what was looked at.
    #[must_use]
    pub fn new(claims: &ProofClaims, looked: Looked) -> Self {
        let signature = looked.signature();
        let (exit_code, why) = judged(claims, &looked, &signature);
        let line = |text: &String| text::one_line(text, LETTERS_MAX);
        let mut more = looked.signatures;
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
            at: line(&claims.at),
            program: line(&claims.program),
            platform: line(&claims.platform),
            git_tree: claims.git_tree.clone(),
            sha256: claims.sha256.clone(),
            withheld: claims.withheld.iter().map(line).collect(),
            unknown_revision: claims.unknown_revision.as_ref().map(line),
            signature,
            more_signatures: more,
            trust_given: looked.trust_given,
            tree: looked.tree,
            dirty: looked.dirty,
            gates: looked.gates,
            run: looked.run,
            hints: Vec::new(),
        }
    }
}

/// The exit code, and the same in a sentence.
fn judged(claims: &ProofClaims, looked: &Looked, signature: &SignatureTrust) -> (u8, String) {
    if let SignatureTrust::Bad { why } = signature {
        return (1, format!("the signature is not right: {}", text::one_line(why, LETTERS_MAX)));
    }
    match &looked.tree {
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
    if let GatesMatch::Weaker { why } = &looked.gates {
        return (1, format!("its gates are weaker than those of the base: {}", why.join("; ")));
    }
    if looked.trust_given {
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
    match &looked.run {
        Rerun::Refused => {
            (4, "its commands were not run: no trusted key signed them, and the base does not name them".to_owned())
        }
        Rerun::Ran { gates } => judged_run(claims, gates),
        Rerun::NotAsked => match signature {
            SignatureTrust::Trusted { signer, key } => (0, format!("claimed by {signer} ({key}): {}", claimed(claims))),
            SignatureTrust::UnknownKey { .. } | SignatureTrust::Unsigned | SignatureTrust::Bad { .. } => {
                (4, format!("claimed, but not by a key that you trust: {}", claimed(claims)))
            }
        },
    }
}

/// What the proof claims, in words.
fn claimed(claims: &ProofClaims) -> String {
    let required = claims.gates.iter().filter(|gate| gate.required);
    let names: Vec<String> = required.map(|gate| text::one_line(&gate.name, 40)).collect();
    let gates = text::one_line(&names.join(", "), LETTERS_MAX);
    if claims.verified {
        return format!("these gates passed on this tree: {gates}");
    }
    let against = claims.against.iter().map(|why| text::one_line(why, LETTERS_MAX)).collect::<Vec<_>>().join("; ");
    format!("these gates passed on this tree: {gates}; a person accepted it, it is not verified: {against}")
}

fn judged_run(claims: &ProofClaims, gates: &[VerifiedGate]) -> (u8, String) {
    let required = || gates.iter().filter(|gate| gate.required);
    let lost: Vec<String> =
        required().filter(|gate| !gate.passes()).map(|gate| format!("{} ({})", gate.name, gate.ended)).collect();
    if required().next().is_none() {
        return (1, "it has no required gate that could be run".to_owned());
    }
    if !lost.is_empty() {
        return (1, format!("not every required gate passes here: {}", lost.join(", ")));
    }
    match claims.verified {
        true => (0, "every required gate passes here, on the files of this checkout".to_owned()),
        false => (0, "every required gate passes here; a person accepted what speaks against it".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attestation::claims::ClaimedGate;

    fn claims() -> ProofClaims {
        let gate = ClaimedGate { name: "promise".to_owned(), required: true, ..ClaimedGate::default() };
        ProofClaims { verified: true, gates: vec![gate], ..ProofClaims::default() }
    }

    fn looked() -> Looked {
        let trusted = SignatureTrust::Trusted { signer: "ann@x".to_owned(), key: "SHA256:a".to_owned() };
        Looked {
            signatures: vec![trusted],
            trust_given: true,
            tree: TreeMatch::Head,
            dirty: NameList::default(),
            gates: GatesMatch::NotAsked,
            run: Rerun::NotAsked,
        }
    }

    fn of(looked: Looked) -> (u8, String) {
        let check = ProofCheck::new(&claims(), looked);
        assert_eq!(check.holds, check.exit_code == 0);
        (check.exit_code, check.why)
    }

    #[test]
    fn without_a_run_a_proof_is_a_claim() {
        let (code, why) = of(looked());
        assert_eq!((code, why.as_str()), (0, "claimed by ann@x (SHA256:a): these gates passed on this tree: promise"));
        let unsigned = Looked { signatures: Vec::new(), trust_given: false, ..looked() };
        let (code, why) = of(unsigned);
        assert_eq!(code, 4);
        assert!(!why.contains("verified") && why.starts_with("claimed, but not by a key that you trust"), "{why}");
    }

    #[test]
    fn what_speaks_against_it_comes_before_a_trusted_key() {
        let bad = SignatureTrust::Bad { why: "x".to_owned() };
        let cases = [
            Looked { signatures: vec![looked().signatures[0].clone(), bad], ..looked() },
            Looked { tree: TreeMatch::Other { names: NameList::default() }, ..looked() },
            Looked { tree: TreeMatch::Contradiction, ..looked() },
            Looked { tree: TreeMatch::Partial { names: NameList::default() }, ..looked() },
            Looked { gates: GatesMatch::Weaker { why: vec!["y".to_owned()] }, ..looked() },
            Looked { signatures: Vec::new(), ..looked() },
            Looked { signatures: vec![SignatureTrust::UnknownKey { key: "k".to_owned() }], ..looked() },
            Looked { run: Rerun::Ran { gates: Vec::new() }, ..looked() },
        ];
        for case in cases {
            assert_eq!(of(case.clone()).0, 1, "{case:?}");
        }
    }

    #[test]
    fn commands_of_a_stranger_may_not_be_run() {
        let unknown = vec![SignatureTrust::UnknownKey { key: "k".to_owned() }];
        assert!(looked().may_run());
        assert!(!Looked { signatures: unknown.clone(), trust_given: false, ..looked() }.may_run());
        assert!(Looked { signatures: unknown, gates: GatesMatch::Same { changed: Vec::new() }, ..looked() }.may_run());
        assert!(!Looked { signatures: Vec::new(), ..looked() }.may_run());
        assert!(!Looked { gates: GatesMatch::Weaker { why: Vec::new() }, ..looked() }.may_run());
    }
}
