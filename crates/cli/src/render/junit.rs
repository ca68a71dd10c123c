//! What `loop verify` found as JUnit XML: a suite a gate.
use loop_core::policy::gate::Verdict;
use loop_core::test_output::TestStatus;
use loop_core::view::{Verification, VerifiedGate};

/// One document.
pub(crate) fn xml(found: &Verification) -> String {
    let suites: Vec<Suite> = if found.gates.is_empty() {
        vec![Suite::claim(found)]
    } else {
        found.gates.iter().map(|gate| Suite::of(found, gate)).collect()
    };
    let sum = |of: fn(&Suite) -> usize| suites.iter().map(of).sum::<usize>();
    let (tests, failures, errors) = (sum(|suite| suite.tests), sum(|suite| suite.failures), sum(|suite| suite.errors));
    let body: String = suites.iter().map(|suite| suite.text.as_str()).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" time=\"{:.3}\">\n{body}</testsuites>\n",
        escaped(&format!("loop verify {}", found.id)),
        found.duration_seconds,
    )
}

/// One suite, and what it counts.
struct Suite {
    text: String,
    tests: usize,
    failures: usize,
    errors: usize,
}

impl Suite {
    /// The gate itself is the first case; the tests that it reported are the others.
    fn of(found: &Verification, gate: &VerifiedGate) -> Self {
        let (class, time) = (escaped(&format!("loop.{}.{}", found.id, gate.name)), gate.duration_seconds);
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
            escaped(&found.at),
            properties(found, gate),
            each.collect::<String>(),
        );
        Self { text, tests: cases.len(), failures, errors }
    }

    /// Of a run without a verified result: it is only a claim, so it does not count as a test that passes.
    fn claim(found: &Verification) -> Self {
        let text = format!(
            "  <testsuite name=\"claim\" tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\" time=\"0.000\" timestamp=\"{}\">\n    <testcase classname=\"loop.{}\" name=\"claim\" time=\"0.000\"><failure message=\"{}\"/></testcase>\n  </testsuite>\n",
            escaped(&found.at),
            escaped(&found.id),
            escaped(&found.why),
        );
        Self { text, tests: 1, failures: 1, errors: 0 }
    }
}

fn properties(found: &Verification, gate: &VerifiedGate) -> String {
    let all = [
        ("command", gate.command.as_str()),
        ("checkpoint", found.checkpoint.as_deref().unwrap_or_default()),
        ("tree", found.tree.as_deref().unwrap_or_default()),
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
