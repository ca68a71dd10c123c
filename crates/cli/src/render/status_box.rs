//! The status of a loop in a box, as the autonomous specification draws it. Its borders are straight also with wide
//! letters and long texts.
use loop_core::text;
use loop_core::time;
use loop_core::view::HarnessStatus;
use unicode_width::UnicodeWidthStr;

use super::table::cut;

/// The width of the box without its borders.
const WIDTH: usize = 62;
/// However narrow the screen is, the box has so much room.
const WIDTH_MIN: usize = 24;
const TITLE: &str = "AUTONOMOUS LOOP STATUS";

/// The box, no wider than the screen.
pub(crate) fn status_box(status: &HarnessStatus, columns: Option<usize>) -> String {
    let width = columns.map_or(WIDTH, |columns| columns.saturating_sub(2).clamp(WIDTH_MIN, WIDTH));
    let rule = |left: char, right: char| format!("{left}{}{right}\n", "═".repeat(width));
    let row = |words: &str| {
        let words = cut(&text::one_line(words, 4 * WIDTH), width - 2);
        let pad = " ".repeat((width - 2).saturating_sub(words.width()));
        format!("║ {words}{pad} ║\n")
    };
    let title = {
        let left = width.saturating_sub(TITLE.width()) / 2;
        let right = width.saturating_sub(TITLE.width() + left);
        format!("║{}{TITLE}{}║\n", " ".repeat(left), " ".repeat(right))
    };
    let mut drawn = rule('╔', '╗') + &title + &rule('╠', '╣');
    drawn += &row(&format!("Task: {}", status.task));
    drawn += &row(&format!("Goal: {}", status.goal));
    drawn += &rule('╠', '╣');
    let of = status.max_iterations.map_or_else(String::new, |most| format!("/{most}"));
    drawn += &row(&pair(
        &format!("Iterations: {}{of}", status.done),
        &format!("Elapsed: {}", time::spaced(status.elapsed_ms)),
    ));
    drawn += &row(&pair(&format!("Current CLI: {}", status.cli), &format!("Model: {}", status.model)));
    drawn += &row(&format!("Avg Progress (last {}): {:.2}", status.averaged, status.average));
    drawn += &rule('╠', '╣');
    drawn += &row("Recent Progress Markers:");
    if status.markers.is_empty() {
        drawn += &row("  none yet");
    }
    for marker in &status.markers {
        drawn += &row(&format!("• {marker}"));
    }
    drawn + &rule('╚', '╝')
}

/// Two facts in one row.
fn pair(left: &str, right: &str) -> String {
    format!("{left} · {right}")
}

#[cfg(test)]
mod tests {
    use loop_core::run::Status;

    use super::*;

    fn status(goal: &str, markers: &[&str]) -> HarnessStatus {
        HarnessStatus {
            task: "a1b2c3d".to_owned(),
            goal: goal.to_owned(),
            status: Status::Running,
            iteration: 10,
            max_iterations: None,
            done: 10,
            average: 0.354,
            averaged: 5,
            cli: "codex".to_owned(),
            model: "gpt-5.2".to_owned(),
            elapsed_ms: 8_100_000,
            markers: markers.iter().map(|marker| (*marker).to_owned()).collect(),
        }
    }

    #[test]
    fn the_borders_of_the_box_are_straight_with_wide_and_long_text() {
        // req: A-24 partly: the box
        let long = "x".repeat(500);
        let markers = ["実装を完了しました", "👍🏽 done\twith\x1b[31m colour", &long, "e\u{301}te\u{301}", ""];
        for columns in [None, Some(200), Some(64), Some(40), Some(10)] {
            let drawn = status_box(
                &status("目標: ログイン画面を作る、そして試験をすべて通す、さらに文書も書く", &markers),
                columns,
            );
            let widths: Vec<usize> = drawn.lines().map(UnicodeWidthStr::width).collect();
            assert!(widths.windows(2).all(|pair| pair[0] == pair[1]), "{columns:?}: {widths:?}\n{drawn}");
            assert!(drawn.lines().all(|line| line.ends_with(['╗', '║', '╣', '╝'])), "{drawn}");
        }
    }

    #[test]
    fn the_box_says_what_the_specification_names() {
        // req: A-24 partly: the box
        let drawn = status_box(&status("write it", &["login works"]), None);
        expect_test::expect![[r#"
            ╔══════════════════════════════════════════════════════════════╗
            ║                    AUTONOMOUS LOOP STATUS                    ║
            ╠══════════════════════════════════════════════════════════════╣
            ║ Task: a1b2c3d                                                ║
            ║ Goal: write it                                               ║
            ╠══════════════════════════════════════════════════════════════╣
            ║ Iterations: 10 · Elapsed: 2h 15m                             ║
            ║ Current CLI: codex · Model: gpt-5.2                          ║
            ║ Avg Progress (last 5): 0.35                                  ║
            ╠══════════════════════════════════════════════════════════════╣
            ║ Recent Progress Markers:                                     ║
            ║ • login works                                                ║
            ╚══════════════════════════════════════════════════════════════╝
        "#]]
        .assert_eq(&drawn);
    }
}
