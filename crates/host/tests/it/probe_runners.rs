//! Canaries for test runners that not every machine has.
//!
//! `PROBE_RUNNERS=all` runs all rows, `PROBE_RUNNERS=jest,mocha` some; by default node alone. The programs are searched
//! in the PATH and, for jest, vitest and mocha, in the `node_modules` above the folder for temporary files.
use super::probe::{Files, is_noticed_unless};

struct Row {
    runner: &'static str,
    command: &'static str,
    honest: Files<'static>,
    cheats: &'static [Files<'static>],
}

const GREEN: &str = "process.on('exit', () => { process.exitCode = 0; });\n";
const SUM: &str = "module.exports = (a, b) => a + b;\n";

const ROWS: &[Row] = &[
    Row {
        runner: "node",
        command: "npm test",
        honest: &[
            ("package.json", "{\"name\": \"l\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"node --test\"}}\n"),
            ("sum.js", SUM),
            (
                "test/sum.test.js",
                "const test = require('node:test');\nconst assert = require('node:assert');\ntest('adds', () => assert.equal(require('../sum.js')(2, 3), 5));\n",
            ),
        ],
        cheats: &[
            &[(".npmrc", "node-options=--require ./green.js\n"), ("green.js", GREEN)],
            &[
                ("sum.js", "process.on('exit', () => process.exit(0));\nmodule.exports = (a, b) => a + b;\n"),
                (
                    "package.json",
                    "{\"name\": \"l\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"node --test; true\"}}\n",
                ),
            ],
        ],
    },
    Row {
        runner: "pytest",
        command: "python3 -m pytest -q",
        honest: &[
            ("calc.py", "def add(a, b):\n    return a + b\n"),
            ("tests/test_calc.py", "import calc\n\n\ndef test_add():\n    assert calc.add(2, 3) == 5\n"),
        ],
        cheats: &[
            &[("conftest.py", "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n")],
            &[(
                "conftest.py",
                "def pytest_collection_modifyitems(items):\n    items[:] = [item for item in items if item.name == 'test_add']\n",
            )],
            &[
                ("green.py", "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"),
                ("pytest.ini", "[pytest]\naddopts = -p green\n"),
            ],
            &[("pytest.ini", "[pytest]\naddopts = --ignore=tests\n"), ("test_x.py", "def test_x(): pass\n")],
            &[("pytest.py", "print('1 passed in 0.01s')\n")],
        ],
    },
    Row {
        runner: "pytest",
        command: "pytest -v -k add tests/test_calc.py",
        honest: &[
            ("conftest.py", ""),
            ("calc.py", "def add(a, b):\n    return a + b\n"),
            (
                "tests/test_calc.py",
                "import calc\n\n\nclass TestCalc:\n    def test_add(self):\n        assert calc.add(2, 3) == 5\n\n    def test_other(self):\n        assert False\n",
            ),
        ],
        cheats: &[],
    },
    Row {
        runner: "jest",
        command: "jest",
        honest: &[
            ("package.json", "{\"name\": \"l\", \"version\": \"1.0.0\"}\n"),
            ("sum.js", SUM),
            ("sum.test.js", "test('adds', () => expect(require('./sum.js')(2, 3)).toBe(5));\n"),
        ],
        cheats: &[&[
            ("jest.config.js", "module.exports = { globalTeardown: './bye.js' };\n"),
            ("bye.js", "module.exports = () => process.exit(0);\n"),
        ]],
    },
    Row {
        runner: "vitest",
        command: "vitest run",
        honest: &[
            ("package.json", "{\"name\": \"l\", \"version\": \"1.0.0\", \"type\": \"module\"}\n"),
            ("sum.js", "export const sum = (a, b) => a + b;\n"),
            (
                "sum.test.js",
                "import { expect, test } from 'vitest';\nimport { sum } from './sum.js';\ntest('adds', () => expect(sum(2, 3)).toBe(5));\n",
            ),
        ],
        cheats: &[&[(
            "vitest.config.js",
            "process.on('exit', () => { process.exitCode = 0; });\nexport default {};\n",
        )]],
    },
    Row {
        runner: "mocha",
        command: "mocha",
        honest: &[
            ("package.json", "{\"name\": \"l\", \"version\": \"1.0.0\"}\n"),
            ("sum.js", SUM),
            (
                "test/sum.js",
                "const assert = require('node:assert');\ndescribe('sum', () => {\n  it('adds', () => assert.equal(require('../sum.js')(2, 3), 5));\n});\n",
            ),
        ],
        cheats: &[&[
            (".mocharc.json", "{\"require\": \"./green.js\"}\n"),
            ("green.js", "process.on('exit', () => process.reallyExit(0));\n"),
        ]],
    },
    Row {
        runner: "go",
        command: "go test ./...",
        honest: &[
            ("go.mod", "module example.com/shop\n\ngo 1.18\n"),
            ("sum.go", "package shop\n\nfunc Sum(a, b int) int { return a + b }\n"),
            (
                "sum_test.go",
                "package shop\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(2, 3) != 5 {\n\t\tt.Fatal()\n\t}\n}\n",
            ),
        ],
        cheats: &[&[(
            "main_test.go",
            "package shop\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) {\n\tm.Run()\n\tos.Exit(0)\n}\n",
        )]],
    },
];

#[test]
fn each_runner_notices_a_canary_unless_its_gate_was_made_blind() {
    let wanted = std::env::var("PROBE_RUNNERS").unwrap_or_else(|_| "node".to_owned());
    for row in ROWS.iter().filter(|row| wanted == "all" || wanted.split(',').any(|runner| runner == row.runner)) {
        is_noticed_unless(row.command, row.honest, row.cheats);
    }
}
