//! What `loop verify` found as JUnit XML: a suite a gate.
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
    fn of(found: &Verification, gate: &VerifiedGate) -> Self {
        let (result, [failures, errors, skipped]) = result(gate);
        let properties = [
            ("command", gate.command.as_str()),
            ("checkpoint", found.checkpoint.as_deref().unwrap_or_default()),
            ("tree", found.tree.as_deref().unwrap_or_default()),
            ("output_sha256", gate.output_sha256.as_str()),
            ("recorded", gate.recorded.as_deref().unwrap_or_default()),
        ];
        let properties =
            properties.map(|(name, value)| format!("      <property name=\"{name}\" value=\"{}\"/>\n", escaped(value)));
        let (name, time) = (escaped(&gate.name), gate.duration_seconds);
        let text = format!(
            "  <testsuite name=\"{name}\" tests=\"1\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{time:.3}\" timestamp=\"{}\">\n    <properties>\n{}    </properties>\n    <testcase classname=\"loop.{}\" name=\"{name}\" time=\"{time:.3}\">{result}</testcase>\n  </testsuite>\n",
            escaped(&found.at),
            properties.concat(),
            escaped(&found.id),
        );
        Self { text, tests: 1, failures, errors }
    }

    /// Of a run that nobody verified: a claim, which is no test that passes.
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

/// What a gate is as the result of a test, with the counts of failures, errors and skips.
fn result(gate: &VerifiedGate) -> (String, [usize; 3]) {
    let (message, said) = (escaped(&gate.ended), escaped(&gate.said));
    match (gate.is_kept(), gate.required, gate.verdict.as_str()) {
        (true, ..) => (String::new(), [0, 0, 0]),
        (false, false, _) => (format!("<skipped message=\"only watched, {message}\"/>"), [0, 0, 1]),
        (false, true, "unverifiable") => (format!("<error message=\"{message}\">{said}</error>"), [0, 1, 0]),
        (false, true, _) => (format!("<failure message=\"{message}\">{said}</failure>"), [1, 0, 0]),
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
