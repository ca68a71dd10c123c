//! Every example of the description of the journal can be read by this program.
use loop_core::run::{Answer, Fact, Order, PromptNote, Run, StreamReport};
use loop_host::journal::{ChainHash, Decoded, decode};
use serde_json::Value;

const PAGE: &str = include_str!("../../../../docs/formats/journal.md");

#[test]
fn every_example_of_the_journal_is_a_line_or_what_stands_in_one() {
    let mut counted = 0;
    for block in PAGE.split("```json\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        for value in serde_json::Deserializer::from_str(block).into_iter::<Value>() {
            let value = value.unwrap_or_else(|error| panic!("{error}: {block}"));
            let is_line = value.get("chain").is_some();
            let is_known = serde_json::from_value::<Fact>(value.clone()).is_ok()
                || serde_json::from_value::<Order>(value.clone()).is_ok()
                || serde_json::from_value::<Answer>(value.clone()).is_ok()
                || serde_json::from_value::<PromptNote>(value.clone()).is_ok()
                || serde_json::from_value::<StreamReport>(value.clone()).is_ok();
            assert!(is_line || is_known, "{value}");
            counted += 1;
        }
    }
    assert!(counted > 60, "{counted}");
}

#[test]
fn the_two_lines_of_the_description_have_the_hashes_that_it_describes() {
    let mut blocks = PAGE.split("```json\n").skip(1).map(|block| block.split("```").next().unwrap_or_default());
    let mut line = || blocks.next().unwrap().replace("\n ", "").replace('\n', "");
    let (first, entry) = (line(), line());
    let head = ChainHash::default().check(first.as_bytes()).expect("the first line");
    assert!(head.check(entry.as_bytes()).is_some(), "{entry}");
    assert!(matches!(decode::<Run>(entry.as_bytes()), Decoded::Known(_)), "{entry}");
}
