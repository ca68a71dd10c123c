//! The failing test for node, jest, vitest and mocha.
use super::{Files, Gate, NODE, NODE_MODULE, none};

const IT: &str = "it('adds', () => {});\n";
const MOCHA: Files = &[("test/a.js", IT), ("test/deep/b.js", IT), ("other/c.js", IT)];

#[test]
fn words_of_a_line_of_mocha_or_node_are_read_with_their_values() {
    for (command, expected) in [
        ("npx mocha --reporter dot", "test/a.js holds heron".to_owned()),
        ("npx mocha --reporter=dot", "test/a.js holds heron".to_owned()),
        ("npx mocha other", "other/c.js holds heron".to_owned()),
        ("npx mocha --recursive test/deep", "test/deep/b.js holds heron".to_owned()),
        ("npx mocha 'test/*/*.js'", "test/deep/b.js holds heron".to_owned()),
        // The value of an option that is not known, or a file that is not there.
        ("npx mocha --global jQuery test/a.js", none("mocha")),
        ("npx mocha \"$FILES\"", none("mocha")),
        ("npx jest other/c.js", "other/c.js holds heron".to_owned()),
        ("npx jest sum other/c.js", none("jest")),
        ("npx jest 'other/*.js'", none("jest")),
    ] {
        assert_eq!(Gate::new(command, MOCHA).told(), expected, "{command}");
    }
    let tap = Gate::new("npx mocha || true", MOCHA).printing("tap", &["adds"]);
    assert_eq!(tap.told(), none("mocha"), "the names of its tests do not lead to files");
    let elsewhere = Gate::new("npx jest other/c.js || true", MOCHA).printing("jest", &["gone.test.js › adds"]);
    assert_eq!(elsewhere.told(), none("jest"), "the names are those of other files");
}

#[test]
fn node_searches_files_by_their_names_and_below_folders_of_tests() {
    for (path, is_found) in [
        ("test.js", true),
        ("test-sum.js", true),
        ("src/sum.test.js", true),
        ("src/sum-test.cjs", true),
        ("src/sum_test.js", true),
        ("src/test/sum.js", true),
        ("src/sum.js", false),
        ("src/testing.js", false),
        ("src/sum.test.ts", false),
        ("node_modules/sum/test/a.test.js", false),
        (".cache/a.test.js", false),
    ] {
        let files: Files = vec![(path, NODE)].leak();
        let expected = if is_found { format!("{path} holds heron") } else { none("node --test") };
        assert_eq!(Gate::new("node --test", files).told(), expected, "{path}");
    }
    const FILES: Files = &[("test/b.js", NODE), ("web/test/c.js", NODE), ("test/x.json", "{}")];
    assert_eq!(Gate::new("node --test test", FILES).told(), "test/b.js holds heron");
    assert_eq!(Gate::new("node --test web", FILES).told(), "web/test/c.js holds heron");
    assert_eq!(Gate::new("node --test \"$FILE\"", FILES).told(), none("node --test"));
}

#[test]
fn a_package_with_settings_of_mocha_does_not_show_what_it_loads() {
    for (manifest, is_known) in [
        (r#"{"mocha": {"spec": "other"}}"#, false),
        (r#"{"mocha":{"spec":"other"}}"#, false),
        (r#"{"devDependencies": {"mocha": "^11.0.0"}}"#, true),
    ] {
        let files: Files = vec![("package.json", manifest), MOCHA[0]].leak();
        let expected = if is_known { "test/a.js holds heron".to_owned() } else { none("mocha") };
        assert_eq!(Gate::new("npx mocha", files).told(), expected, "{manifest}");
    }
}

#[test]
fn the_test_is_written_as_its_file_loads_modules() {
    for (command, path, text, code) in [
        ("node --test", "a.test.js", NODE_MODULE, "\nimport { test as heronTest } from 'node:test';\nheronTest('"),
        (
            "node --test",
            "a.test.js",
            "import{test} from'node:test';\ntest('a', () => {});\n",
            "\nimport { test as heronTest } from 'node:test';\nheronTest('",
        ),
        ("node --test", "a.test.js", NODE, "\nrequire('node:test').test('holds heron'"),
        (
            "npx jest a.test.js",
            "a.test.js",
            "import { test } from '@jest/globals';\ntest('a', () => {});\n",
            "\nimport { test as heronTest } from '@jest/globals';\nheronTest('",
        ),
        (
            "npx jest a.test.js",
            "a.test.js",
            "const { test } = require('@jest/globals');\ntest('a', () => {});\n",
            "\nrequire('@jest/globals').test('holds heron'",
        ),
        ("npx jest a.test.js", "a.test.js", IT, "\ntest('holds heron'"),
        (
            "npx mocha a.test.js",
            "a.test.js",
            "import { it } from 'mocha';\nit('a', () => {});\n",
            "\nimport { it as heronTest } from 'mocha';\nheronTest('",
        ),
        (
            "npx mocha a.test.js",
            "a.test.js",
            "import { it } from \"mocha\";\nit('a', () => {});\n",
            "\nimport { it as heronTest } from 'mocha';\nheronTest('",
        ),
        ("npx mocha a.test.js", "a.test.js", IT, "\nit('holds heron'"),
    ] {
        let files: Files = vec![(path, text)].leak();
        let contents = Gate::new(command, files).contents();
        assert!(contents.starts_with(&format!("{text}{code}")), "{command}: {contents}");
    }
}

#[test]
fn the_test_tries_the_assertions_of_node_where_its_file_has_them_under_their_usual_name() {
    const TRIES: &str = "for (const tried of [() => assert.ok(false)])";
    for (load, is_known) in [
        ("const assert = require('node:assert');", true),
        ("const assert = require('assert');", true),
        ("const assert = require(\"assert\");", true),
        ("const assert = require('assert/strict');", true),
        ("const assert = require('node:assert').strict;", true),
        ("const assert = require('chai').assert;", false),
        ("const { ok } = require('node:assert');", false),
        ("// require('node:assert') is not here", false),
    ] {
        let text = format!("const test = require('node:test');\n{load}\ntest('x', () => assert.ok(1));\n");
        let files: Files = vec![("a.test.js", &*text.leak())].leak();
        let contents = Gate::new("node --test", files).contents();
        assert_eq!(contents.contains(TRIES), is_known, "{load}: {contents}");
    }
}

#[test]
fn only_the_matchers_that_a_file_calls_are_tried() {
    const TEXT: &str = "test('x', () => { expect(0.1).toBeCloseTo(0.1); expect(() => a()).toThrow(); });\n";
    let contents = Gate::new("npx jest a.test.js", &[("a.test.js", TEXT)]).contents();
    let tried = "of [() => expect(1).toBeCloseTo(2), () => expect(() => {}).toThrow()])";
    assert!(contents.contains(tried), "{contents}");
}

#[test]
fn a_test_that_failed_at_the_start_is_broken_only_where_its_body_is_certain() {
    for (line, red, is_broken) in [
        ("test('adds', () => {", "adds", true),
        ("  it(\"adds\", async function () {", "adds", true),
        ("test(`adds`, async t => {", "adds", true),
        ("  await t.test('adds', async (t) => {", "adds", true),
        ("test.skip('adds', () => {", "adds", false),
        ("test('adds', check(add)); if (slow) {", "adds", false),
        ("test('adds', { timeout: 5 }, () => {", "adds", false),
        ("test('adds' + name, () => {", "adds", false),
        ("test('adds',\n  () => {", "adds", false),
        ("test('costs $5', () => {", "costs $5", false),
        ("test('a \\n', () => {", "a \\n", false),
        ("test('', () => {", "", false),
    ] {
        let text = format!("const test = require('node:test');\n{line}\n  a();\n}});\n");
        let files: Files = vec![("a.test.js", &*text.leak())].leak();
        let gate = Gate::new("node --test", files).printing("node-test", &["other"]).red(vec![red].leak());
        let gate = Gate { passed: vec!["other", red].leak(), ..gate };
        let expected = if is_broken { "a.test.js adds" } else { "a.test.js holds heron" };
        assert_eq!(gate.told(), expected, "{line}");
        if is_broken {
            let broken = format!("{line} throw new Error('not as expected');\n  a();");
            assert!(gate.contents().contains(&broken), "{}", gate.contents());
        }
    }
}

#[test]
fn a_test_that_failed_at_the_start_in_a_file_that_did_not_run_now_is_not_broken() {
    const FILES: Files = &[("sum.test.js", "it('adds', () => {\n});\n")];
    let told = |red| Gate::new("npx jest", FILES).printing("jest", &["sum.test.js"]).red(red).told();
    assert_eq!(told(&["sum.test.js › sum › adds"]), "sum.test.js adds");
    assert_eq!(told(&["gone.test.js › sum › adds"]), "sum.test.js holds heron");
    assert_eq!(told(&["sum.test.jsx › sum › adds"]), "sum.test.js holds heron");
}
