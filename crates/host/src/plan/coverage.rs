//! How much of a project its tests cover, by a report that the project's own tools left: lcov, Cobertura, coverage.py,
//! jest.
use std::path::Path;

use crate::paths::read_bounded;

/// A longer report is not read.
const REPORT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Reads the covered lines of a report, in per cent.
type ReportReader = fn(&str) -> Option<f64>;

/// Where tools leave their reports, the most exact first.
const REPORTS: [(&str, ReportReader); 10] = [
    ("coverage/coverage-summary.json", jest_summary),
    ("coverage-summary.json", jest_summary),
    ("coverage/lcov.info", lcov),
    ("lcov.info", lcov),
    ("target/llvm-cov/lcov.info", lcov),
    ("coverage.json", coverage_py),
    ("coverage.xml", cobertura),
    ("cobertura.xml", cobertura),
    ("coverage/cobertura-coverage.xml", cobertura),
    ("target/site/cobertura/coverage.xml", cobertura),
];

/// The covered lines, in hundredths of a per cent; none where no report is found.
pub(super) fn covered(folder: &Path) -> Option<i32> {
    let read = |(name, reader): &(&str, ReportReader)| {
        let bytes = read_bounded(&folder.join(name), REPORT_BYTES_MAX).ok()?;
        reader(&String::from_utf8_lossy(&bytes))
    };
    let percent = REPORTS.iter().find_map(read).filter(|percent| (0.0..=100.0).contains(percent))?;
    hundredths(percent)
}

#[expect(clippy::cast_possible_truncation, reason = "it is between 0 and 10000")]
fn hundredths(percent: f64) -> Option<i32> {
    percent.is_finite().then(|| (percent * 100.0).round() as i32)
}

fn lcov(text: &str) -> Option<f64> {
    let sum = |begin: &str| {
        text.lines().filter_map(|line| line.strip_prefix(begin)?.trim().parse::<u32>().ok()).map(f64::from).sum::<f64>()
    };
    let (found, hit) = (sum("LF:"), sum("LH:"));
    (found > 0.0).then(|| hit / found * 100.0)
}

fn cobertura(text: &str) -> Option<f64> {
    let after = text.split_once("<coverage")?.1.split_once("line-rate=\"")?.1;
    let rate: f64 = after.split_once('"')?.0.parse().ok()?;
    Some(rate * 100.0)
}

fn coverage_py(text: &str) -> Option<f64> {
    let report: serde_json::Value = serde_json::from_str(text).ok()?;
    report["totals"]["percent_covered"].as_f64()
}

fn jest_summary(text: &str) -> Option<f64> {
    let report: serde_json::Value = serde_json::from_str(text).ok()?;
    report["total"]["lines"]["pct"].as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_four_tools_are_read() {
        for (name, text, wanted) in [
            ("lcov.info", "SF:a\nLF:3\nLH:1\nend_of_record\nSF:b\nLF:1\nLH:1\n", 5000),
            ("coverage.xml", "<?xml version=\"1.0\" ?>\n<coverage version=\"7\" line-rate=\"0.875\" x=\"1\">", 8750),
            ("coverage.json", "{\"totals\": {\"percent_covered\": 12.345}}", 1235),
            ("coverage/coverage-summary.json", "{\"total\":{\"lines\":{\"total\":4,\"pct\":75}}}", 7500),
        ] {
            let folder = tempfile::TempDir::new().unwrap();
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, text).unwrap();
            assert_eq!(covered(folder.path()), Some(wanted), "{name}");
            std::fs::write(&file, "something else").unwrap();
            assert_eq!(covered(folder.path()), None, "{name}");
        }
    }
}
