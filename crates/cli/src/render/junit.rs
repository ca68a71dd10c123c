//! What `loop verify` found as JUnit XML: a suite a gate.
use loop_core::policy::gate::Verdict;
use loop_core::test_output::TestStatus;
use loop_core::view::{Verification, VerifiedGate};

/// One document.
pub(crate) fn xml(found: &Verification) -> String {
    let about = SuiteAbout {
        id: &found.id,
        at: &found.at,
        checkpoint: found.checkpoint.as_deref().unwrap_or_default(),
        tree: found.tree.as_deref().unwrap_or_default(),
    };
    let suites: Vec<Suite> = if found.gates.is_empty() {
        vec![Suite::plain(about, "claim", &[("claim", found.why.clone(), false)])]
    } else {
        found.gates.iter().map(|gate| Suite::of(about, gate)).collect()
    };
    document(&format!("loop verify {}", found.id), found.duration_seconds, &suites)
}

/// What the suites of a document are about.
#[derive(Debug, Clone, Copy)]
pub(super) struct SuiteAbout<'a> {
    /// The run.
    pub(super) id: &'a str,
    /// When.
    pub(super) at: &'a str,
    /// The checkpoint that was judged.
    pub(super) checkpoint: &'a str,
    /// Its tree.
    pub(super) tree: &'a str,
}

/// A document of suites.
pub(super) fn document(name: &str, seconds: f64, suites: &[Suite]) -> String {
    let sum = |of: fn(&Suite) -> usize| suites.iter().map(of).sum::<usize>();
    let (tests, failures, errors) = (sum(|suite| suite.tests), sum(|suite| suite.failures), sum(|suite| suite.errors));
    let body: String = suites.iter().map(|suite| suite.text.as_str()).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" time=\"{:.3}\">\n{body}</testsuites>\n",
        escaped(name),
        seconds,
    )
}

/// One suite, and what it counts.
pub(super) struct Suite {
    text: String,
    tests: usize,
    failures: usize,
    errors: usize,
}

impl Suite {
    /// The gate itself is the first case; the tests that it reported are the others.
    pub(super) fn of(about: SuiteAbout<'_>, gate: &VerifiedGate) -> Self {
        let (class, time) = (escaped(&format!("loop.{}.{}", about.id, gate.name)), gate.duration_seconds);
        let tests = gate.cases.iter().map(|(name, mark)| (name.as_str(), 0.0, of_test(gate, *mark)));
        let cases: Vec<_> = std::iter::once((gate.name.as_str(), time, of_gate(gate))).chain(tests).collect();
        let count = |what: CaseResult| cases.iter().filter(|(_, _, (is, _))| *is == what).count();
        let (failures, errors, skipped) =
            (count(CaseResult::Failure), count(CaseResult::Error), count(CaseResult::Skipped));
        let each = cases.iter().map(|(name, time, (_, result))| {
            let name = escaped(name);
            format!("    <testcase classname=\"{class}\" name=\"{name}\" time=\"{time:.3}\">{result}</testcase>\n")
        });
        let text = format!(
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{time:.3}\" timestamp=\"{}\">\n    <properties>\n{}    </properties>\n{}  </testsuite>\n",
            escaped(&gate.name),
            cases.len(),
            escaped(about.at),
            properties(about, gate),
            each.collect::<String>(),
        );
        Self { text, tests: cases.len(), failures, errors }
    }

    /// Cases of our own, each with a message and whether it passes: what is only claimed never counts as a test that
    /// passes.
    pub(super) fn plain(about: SuiteAbout<'_>, name: &str, cases: &[(&str, String, bool)]) -> Self {
        let failures = cases.iter().filter(|(_, _, passes)| !passes).count();
        let case = |(name, message, passes): &(&str, String, bool)| {
            let failure = format!("<failure message=\"{}\"/>", escaped(message));
            let result = if *passes { "" } else { failure.as_str() };
            format!(
                "    <testcase classname=\"loop.{}\" name=\"{}\" time=\"0.000\">{result}</testcase>\n",
                escaped(about.id),
                escaped(name)
            )
        };
        let text = format!(
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\" time=\"0.000\" timestamp=\"{}\">\n{}  </testsuite>\n",
            escaped(name),
            cases.len(),
            escaped(about.at),
            cases.iter().map(case).collect::<String>(),
        );
        Self { text, tests: cases.len(), failures, errors: 0 }
    }
}

fn properties(about: SuiteAbout<'_>, gate: &VerifiedGate) -> String {
    let all = [
        ("command", gate.command.as_str()),
        ("checkpoint", about.checkpoint),
        ("tree", about.tree),
        ("output_sha256", gate.output_sha256.as_str()),
        ("recorded", gate.recorded.map_or("", Verdict::name)),
    ];
    let each = all.map(|(name, value)| format!("      <property name=\"{name}\" value=\"{}\"/>\n", escaped(value)));
    each.concat()
}

/// What a case is, as JUnit has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CaseResult {
    Passed,
    Failure,
    Error,
    Skipped,
}

fn of_gate(gate: &VerifiedGate) -> (CaseResult, String) {
    let (message, said) = (escaped(&gate.ended), escaped(&gate.said));
    match (gate.passes(), gate.required, gate.verdict) {
        (true, ..) => (CaseResult::Passed, String::new()),
        (false, false, _) => (CaseResult::Skipped, format!("<skipped message=\"only watched, {message}\"/>")),
        (false, true, Verdict::Unverifiable) => {
            (CaseResult::Error, format!("<error message=\"{message}\">{said}</error>"))
        }
        (false, true, Verdict::Pass | Verdict::Fail) => {
            (CaseResult::Failure, format!("<failure message=\"{message}\">{said}</failure>"))
        }
    }
}

/// A failed test of a gate that passes all the same, or is only watched, fails nothing.
fn of_test(gate: &VerifiedGate, mark: TestStatus) -> (CaseResult, String) {
    match mark {
        TestStatus::Passed => (CaseResult::Passed, String::new()),
        TestStatus::Failed if gate.required && !gate.passes() => {
            (CaseResult::Failure, "<failure message=\"it fails\"/>".to_owned())
        }
        TestStatus::Failed => {
            (CaseResult::Skipped, "<skipped message=\"it fails, and the gate passes or is only watched\"/>".to_owned())
        }
        TestStatus::Skipped => (CaseResult::Skipped, "<skipped/>".to_owned()),
    }
}

/// A text as XML has it. What XML has no way to write is left out.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            '\u{fffe}' | '\u{ffff}' => {}
            letter if letter < ' ' || ('\u{7f}'..='\u{9f}').contains(&letter) => {}
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn nothing_that_xml_cannot_write_comes_through() {
        assert_eq!(escaped("a<b> & \"c\"\n\u{1b}[31m\u{0}\u{ffff}é"), "a&lt;b&gt; &amp; &quot;c&quot;&#10;[31mé");
    }
}
