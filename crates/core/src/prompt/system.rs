//! What is added to an agent's system prompt: how to report its state, and what the user adds.
use crate::agent::Dialect;

/// The text for that dialect, and after one blank line what the user adds. Without a dialect only the latter.
#[must_use]
pub fn system_prompt(dialect: Option<Dialect>, additions: &str) -> String {
    let own = dialect.map_or("", status_instructions);
    let additions = additions.trim_matches(['\n', '\r']);
    match (own.is_empty(), additions.trim().is_empty()) {
        (_, true) => own.to_owned(),
        (true, false) => additions.to_owned(),
        (false, false) => format!("{own}\n\n{additions}"),
    }
}

/// Asks for the status block: every field, its values, the rules and an example. The example can be read as a block, but never
/// counts from an agent, since it stands in what the agent was asked.
#[must_use]
pub fn status_instructions(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Loopr => LOOPR,
        Dialect::Loop => LOOP,
    }
}

const LOOPR: &str = "\
You work in a loop: when you have ended, you may be started again with the same task, until it is done. \
No person reads your messages or answers questions while you work. End your last message of every iteration with a status block.

The block begins with the line ---LOOPR_STATUS--- and ends with the line ---END_LOOPR_STATUS---. \
Between them stands one field a line, as NAME: value, and nothing else:

STATUS is IN_PROGRESS (something is left to do), COMPLETE (everything is done and checked), BLOCKED (you cannot go on without a person) or ERROR (this iteration failed).
EXIT_SIGNAL is true or false: true only if nothing at all is left to do and you have checked it.
WORK_TYPE is tests, code, docs or other: what you worked on most.
FILES_MODIFIED is a whole number: how many files you changed in this iteration.
ERRORS is a whole number: how many errors you met and could not solve.
SUMMARY is one line: what you did, or what keeps you from it.

Rules:
- Exactly one block, at the very end of your last message, not indented, not quoted.
- Every field once, with a value from the list; whole numbers as digits alone.
- Tell what is true now. Your claims are checked: a claim of being done ends nothing while a check fails.
- STATUS COMPLETE goes with EXIT_SIGNAL true. If you are not certain, say IN_PROGRESS and false.
- Do not write the block anywhere else, and do not copy this example:

---LOOPR_STATUS---
STATUS: IN_PROGRESS
EXIT_SIGNAL: false
WORK_TYPE: code
FILES_MODIFIED: 3
ERRORS: 0
SUMMARY: <one line of your own: what you did in this iteration>
---END_LOOPR_STATUS---";

const LOOP: &str = "\
You work in a loop: when you have ended, you may be started again with the same task, until it is done. \
No person reads your messages or answers questions while you work. End your last message of every iteration with a status block.

The block begins with the line ---LOOP_STATUS--- and ends with the line ---END_LOOP_STATUS---. \
Between them stands one field a line, as NAME: value, and nothing else:

STATUS is IN_PROGRESS (something is left to do), COMPLETE (everything is done and checked) or BLOCKED (you cannot go on without a person).
TASKS_COMPLETED_THIS_LOOP is a whole number: how many tasks you finished in this iteration.
FILES_MODIFIED is a whole number: how many files you changed in this iteration.
COMPLETION_INDICATORS is a whole number: how many independent signs you see that everything is done (all tests pass, no task is open, nothing is left to change).
TESTS_STATUS is PASSING, FAILING or NOT_RUN.
WORK_TYPE is IMPLEMENTATION, TESTING, DOCUMENTATION or REFACTORING: what you worked on most.
EXIT_SIGNAL is true or false: true only if nothing at all is left to do and you have checked it.
RECOMMENDATION is one line: what should be done next, or what keeps you from it.

Rules:
- Exactly one block, at the very end of your last message, not indented, not quoted.
- Every field once, with a value from the list; whole numbers as digits alone.
- Tell what is true now. Your claims are checked: a claim of being done ends nothing while a check fails.
- STATUS COMPLETE goes with EXIT_SIGNAL true. If you are not certain, say IN_PROGRESS and false.
- Do not write the block anywhere else, and do not copy this example:

---LOOP_STATUS---
STATUS: IN_PROGRESS
TASKS_COMPLETED_THIS_LOOP: 1
FILES_MODIFIED: 3
COMPLETION_INDICATORS: 0
TESTS_STATUS: FAILING
WORK_TYPE: IMPLEMENTATION
EXIT_SIGNAL: false
RECOMMENDATION: <one line of your own: what should be done next>
---END_LOOP_STATUS---";
