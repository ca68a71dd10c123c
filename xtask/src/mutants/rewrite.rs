//! A source with all its changes behind switches. Text is only added: what was there stays, between what is added.

use std::collections::BTreeSet;
use std::ops::Range;

use super::list::{Choice, Shape, Site};

/// How the source asks whether a change is on.
const ON: &str = "crate::mutant_switch::on";

/// A rewritten source, and where in it each change is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rewritten {
    pub text: String,
    pub places: Vec<ChangePlace>,
}

/// Where a change is in the rewritten source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangePlace {
    pub id: usize,
    /// Its own text.
    pub own: Range<usize>,
    /// All that is there because of its site, with what was there before.
    pub around: Range<usize>,
}

/// Text that is added at a place of the source.
struct Added<'a> {
    at: usize,
    /// Text that closes comes before text that opens; inner text closes first and opens last.
    order: (bool, usize, usize),
    site: usize,
    pieces: Vec<Piece<'a>>,
}

enum Piece<'a> {
    Text(String),
    Own(&'a Choice),
}

/// Rewrites a source, without the changes that are `dropped`.
#[must_use]
pub fn rewrite(text: &str, sites: &[Site], dropped: &BTreeSet<usize>) -> Rewritten {
    let mut added: Vec<Added<'_>> = Vec::new();
    for (number, site) in sites.iter().enumerate() {
        let choices: Vec<&Choice> = site.choices.iter().filter(|choice| !dropped.contains(&choice.id)).collect();
        if choices.is_empty() {
            continue;
        }
        let (opens, closes) = pieces(site.shape, &choices);
        // An arm has nothing around it: all its text is behind the pattern.
        let begin = if site.shape == Shape::Arm { site.at.end } else { site.at.start };
        let end = site.at.end;
        added.push(Added { at: begin, order: (true, usize::MAX - end, number), site: number, pieces: opens });
        let order = (begin == end, usize::MAX - begin, usize::MAX - number);
        added.push(Added { at: end, order, site: number, pieces: closes });
    }
    added.sort_by_key(|one| (one.at, one.order));
    write(text, sites.len(), &added)
}

fn write(text: &str, sites: usize, added: &[Added<'_>]) -> Rewritten {
    let mut rewritten = Rewritten::default();
    let mut begins: Vec<Option<usize>> = vec![None; sites];
    let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); sites];
    let mut copied = 0;
    for one in added {
        rewritten.text.push_str(&text[copied..one.at]);
        copied = one.at;
        let begin = *begins[one.site].get_or_insert(rewritten.text.len());
        for piece in &one.pieces {
            let from = rewritten.text.len();
            match piece {
                Piece::Text(text) => rewritten.text.push_str(text),
                Piece::Own(choice) => {
                    rewritten.text.push_str(&choice.text);
                    let own = from..rewritten.text.len();
                    waiting[one.site].push(rewritten.places.len());
                    rewritten.places.push(ChangePlace { id: choice.id, own, around: begin..begin });
                }
            }
        }
        for place in &waiting[one.site] {
            rewritten.places[*place].around.end = rewritten.text.len();
        }
    }
    rewritten.text.push_str(&text[copied..]);
    rewritten
}

/// What opens and what closes.
fn pieces<'a>(shape: Shape, choices: &[&'a Choice]) -> (Vec<Piece<'a>>, Vec<Piece<'a>>) {
    let text = |text: String| Piece::Text(text);
    let mut opens = Vec::new();
    let mut closes = Vec::new();
    match shape {
        Shape::Expression => {
            opens.push(text("(".to_owned()));
            for choice in choices {
                opens.extend([
                    text(format!("if {ON}({}) {{ ", choice.id)),
                    Piece::Own(choice),
                    text(" } else ".to_owned()),
                ]);
            }
            opens.push(text("{ ".to_owned()));
            closes.push(text(" })".to_owned()));
        }
        Shape::Body => {
            for choice in choices {
                opens.extend([
                    text(format!(" if {ON}({}) {{ return ", choice.id)),
                    Piece::Own(choice),
                    text("; }".to_owned()),
                ]);
            }
        }
        Shape::IteratorBody => {
            for (depth, choice) in choices.iter().enumerate() {
                let either = "crate::mutant_switch::Either";
                let right = format!("{either}::Right(").repeat(depth);
                let end = ")".repeat(depth);
                opens.extend([text(format!(" if {ON}({}) {{ {right}{either}::Left(", choice.id)), Piece::Own(choice)]);
                opens.push(text(format!("){end} }} else {{")));
            }
            let right = "crate::mutant_switch::Either::Right(".repeat(choices.len());
            opens.push(text(format!(" {right}{{")));
            closes.push(text(format!("}}{}{}", ")".repeat(choices.len()), " }".repeat(choices.len()))));
        }
        Shape::Arm => {
            for choice in choices {
                opens.extend([text(format!(" if !{ON}({})", choice.id)), Piece::Own(choice)]);
            }
        }
        Shape::GuardedArm => {
            for choice in choices {
                opens.extend([text(format!("!{ON}({}) && (", choice.id)), Piece::Own(choice)]);
                closes.push(text(")".to_owned()));
            }
        }
    }
    (opens, closes)
}
