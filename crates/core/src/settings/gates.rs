//! Gates as a text: `NAME=CMD` or `NAME[2of3,timeout=2m,order=1,watch]=CMD`, one a line.
use super::amounts::SettingValue;
use super::value;
use crate::policy::gate::{PassesNeeded, Promise};
use crate::refusal::Refusal;
use crate::time::duration_text;

/// How many gates a loop may have.
const GATES_MAX: usize = 32;
/// All of them are in the first fact of a run, which is bounded.
const GATES_BYTES_MAX: usize = 6 * 1024;
/// How often a gate is asked at most.
const TRIES_MAX: u32 = 20;
/// The key, and the tables in its place.
pub(super) const KEY: &str = "gate";
pub(super) const TABLE: &str = "gates";
pub(super) const EXAMPLE: &str = "[gates.lint] with command = \"cargo clippy\"";
/// The gate that `--promise` names.
pub const PROMISE: &str = "promise";

/// A gate: a name, the command that judges, and how it is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GateSpec {
    /// What it is called.
    pub name: String,
    /// The line as the user wrote it.
    pub command: String,
    /// How long it may take, where that differs from the others.
    pub timeout_ms: Option<u64>,
    /// Lower ones are asked first.
    pub order: u32,
    /// So many of the tries must pass: `2of3`. None is one of one.
    pub tries: Option<(u32, u32)>,
    /// It is shown, and nothing depends on it.
    pub watch: bool,
    /// Its exit code alone counts, whatever its output says about tests.
    pub trust_exit: bool,
    /// It passes when its tests run and at least one of them fails.
    pub red: bool,
}

impl GateSpec {
    /// A gate that must hold.
    #[must_use]
    pub fn new(name: &str, command: &str) -> Self {
        Self { name: name.to_owned(), command: command.to_owned(), ..Self::default() }
    }

    /// How it is run and judged.
    #[must_use]
    pub fn promise(&self) -> Promise<'_> {
        let promise = Promise::parse(&self.command);
        if self.red { promise.wanting_red() } else { promise }
    }

    /// How many tries must pass, and how many there are.
    #[must_use]
    pub fn needs(&self) -> PassesNeeded {
        let (passes, tries) = self.tries.unwrap_or((1, 1));
        PassesNeeded { passes, tries }
    }
}

impl SettingValue for Vec<GateSpec> {
    fn read(text: &str) -> Self {
        read(text).unwrap_or_default()
    }

    fn fits(kind: value::Kind) -> bool {
        kind == value::Kind::Gates
    }
}

/// Reads gates, one a line.
///
/// # Errors
/// Why they do not fit, and what would.
pub(super) fn read(text: &str) -> Result<Vec<GateSpec>, Refusal> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let gates = lines.map(gate).collect::<Result<Vec<_>, _>>()?;
    for (at, gate) in gates.iter().enumerate() {
        if gates.iter().take(at).any(|other| other.name == gate.name) {
            return Err(Refusal::new(format!("there are two gates called {}", gate.name), "give each its own name"));
        }
    }
    if gates.len() > GATES_MAX || text.len() > GATES_BYTES_MAX {
        let why = format!("at most {GATES_MAX} gates, in {GATES_BYTES_MAX} bytes");
        return Err(Refusal::new(why, "put long commands into scripts"));
    }
    Ok(gates)
}

/// A gate that is given as a table, as a line of the setting `gate`.
///
/// # Errors
/// Why it does not fit, and what would.
pub fn gate_line(name: &str, told: &[(String, String)]) -> Result<String, Refusal> {
    let line = line_of(name, told)?;
    gate(&line)?;
    Ok(line)
}

/// The gates of the setting `gate`; none where the text is not one of it.
#[must_use]
pub fn gates_of(text: &str) -> Vec<GateSpec> {
    read(text).unwrap_or_default()
}

pub(super) fn line_of(name: &str, told: &[(String, String)]) -> Result<String, Refusal> {
    let (mut command, mut options) = (None, Vec::new());
    for (what, value) in told {
        match (what.as_str(), value.as_str()) {
            ("command", value) => command = Some(value),
            ("timeout" | "order", value) => options.push(format!("{what}={value}")),
            ("passes", value) => options.push(value.replace(' ', "")),
            ("watch", "true") | ("required", "false") => options.push("watch".to_owned()),
            ("trust_exit", "true") => options.push("trust-exit".to_owned()),
            ("watch" | "trust_exit", "false") | ("required", "true") => {}
            _ => {
                let why = format!("{what} = {value}: a gate has no such key");
                return Err(Refusal::new(
                    why,
                    "there are command, timeout, order, passes (2of3), watch, required and trust_exit",
                ));
            }
        }
    }
    let Some(command) = command.filter(|command| !command.contains('\n')) else {
        return Err(Refusal::new("it needs a command of one line", EXAMPLE));
    };
    Ok(format!("{name}[{}]={command}", options.join(",")))
}

/// The gates of a list without those that a second list names again, and the second list as canonical text.
pub(super) fn without_old(held: &str, new: &str) -> (String, String) {
    let new = gates_of(new);
    let mut held = gates_of(held);
    held.retain(|gate| !new.iter().any(|other| other.name == gate.name));
    (text(&held), text(&new))
}

fn gate(line: &str) -> Result<GateSpec, Refusal> {
    let hint = || "write NAME=CMD, for example lint='cargo clippy', or lint[watch]='cargo clippy'".to_owned();
    let Some((head, command)) = split(line) else {
        return Err(Refusal::new("a gate needs a name and a command", hint()));
    };
    let (name, options) = match head.split_once('[') {
        Some((name, rest)) => (name.trim(), rest.trim().strip_suffix(']').unwrap_or(rest)),
        None => (head.trim(), ""),
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || name.len() > 40 || !name.bytes().all(plain) {
        let why = format!("{name:?} is not a name of a gate: use letters, digits, dots, dashes and underscores");
        return Err(Refusal::new(why, hint()));
    }
    if name == PROMISE {
        return Err(Refusal::new("promise is the gate that --promise names", "give it another name"));
    }
    let command = value::parse(value::Kind::Command, command.trim())?;
    let mut gate = GateSpec::new(name, &command);
    for option in options.split(',').map(str::trim).filter(|option| !option.is_empty()) {
        take(&mut gate, option)?;
    }
    Ok(gate)
}

/// The name with its options, and the command.
fn split(line: &str) -> Option<(&str, &str)> {
    let from = match (line.find('['), line.find('=')) {
        (Some(open), Some(equal)) if open < equal => line.find(']')?,
        (_, Some(_)) => 0,
        (_, None) => return None,
    };
    let equal = from + line.get(from..)?.find('=')?;
    Some((line.get(..equal)?, line.get(equal + 1..)?))
}

fn take(gate: &mut GateSpec, option: &str) -> Result<(), Refusal> {
    let unknown = || {
        let why = format!("{option:?} is not an option of a gate");
        Err(Refusal::new(why, "there are watch, required, trust-exit, timeout=2m, order=1 and 2of3"))
    };
    match option.split_once('=') {
        None if option == "watch" => gate.watch = true,
        None if option == "required" => gate.watch = false,
        None if option == "trust-exit" => gate.trust_exit = true,
        None => match option.split_once("of").map(|(need, all)| (need.trim().parse(), all.trim().parse())) {
            Some((Ok(need), Ok(all))) if 1 <= need && need <= all && all <= TRIES_MAX => gate.tries = Some((need, all)),
            Some((Ok::<u32, _>(_), Ok::<u32, _>(_))) => {
                return Err(Refusal::new(
                    format!("{option} cannot be"),
                    format!("for example 2of3, at most of {TRIES_MAX}"),
                ));
            }
            Some(_) | None => return unknown(),
        },
        Some(("timeout", text)) => {
            value::parse(value::Kind::Duration, text)?;
            gate.timeout_ms = value::millis(text);
        }
        Some(("order", text)) => match text.trim().parse() {
            Ok(order) => gate.order = order,
            Err(_) => return Err(Refusal::new(format!("{text:?} is not a number"), "for example order=1")),
        },
        Some(_) => return unknown(),
    }
    Ok(())
}

/// The canonical text of gates.
#[must_use]
pub(super) fn text(gates: &[GateSpec]) -> String {
    gates.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn line(gate: &GateSpec) -> String {
    let tries = gate.tries.map(|(need, all)| format!("{need}of{all}"));
    let timeout = gate.timeout_ms.map(|ms| format!("timeout={}", duration_text(ms)));
    let order = (gate.order > 0).then(|| format!("order={}", gate.order));
    let watch = gate.watch.then(|| "watch".to_owned());
    let trust_exit = gate.trust_exit.then(|| "trust-exit".to_owned());
    let options: Vec<_> = [tries, timeout, order, watch, trust_exit].into_iter().flatten().collect();
    let options = if options.is_empty() { String::new() } else { format!("[{}]", options.join(",")) };
    format!("{}{options}={}", gate.name, gate.command)
}
