//! The kinds of child that try to outlive the run. Each reports only when it has done its escaping.
use std::fs::{self, File, OpenOptions};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use crate::report::Folder;
use crate::{deeds, sys};

/// So many members has the bomb; no member forks while that many are alive.
const MEMBERS: usize = 60;
/// So many children the respawner keeps.
const RESPAWNED: usize = 3;

/// The agent: starts the escapees of a kind, waits for their reports, and ends well or stays.
pub(crate) fn play(kind: &str, folder: &Folder, ends: bool) -> ! {
    sys::live_for(sys::LIFE_SECONDS);
    let reports = escape(kind, folder);
    let is_deed = matches!(kind, "kills-parent" | "kills-shim" | "kills-shim-bare" | "stops-shim" | "holds-shim");
    while folder.reports() < reports || (is_deed && !folder.has("done")) {
        sys::rest(2);
    }
    folder.say("ready", "");
    if ends {
        sys::end(0);
    }
    if kind == "stopped-agent" {
        sys::send(sys::own_pid(), libc::SIGSTOP);
    }
    sys::stay()
}

/// Starts the escapees and says how many reports there will be.
fn escape(kind: &str, folder: &Folder) -> usize {
    match kind {
        "setsid" => child(folder, sys::new_session),
        "double-fork" => grandchild(folder, || {}),
        "nohup" => child(folder, || sys::ignore(&[libc::SIGHUP])),
        "deaf" => child(folder, sys::ignore_all),
        "renamed" => renamed(folder, "renamed", &[]),
        "pipe-holder" => child(folder, || sys::ignore(&[libc::SIGPIPE, libc::SIGHUP])),
        "stopped" | "stopped-agent" => stopped(folder),
        "hopper" => hopper(folder),
        "bomb" => bomb(folder),
        "kills-parent" => kills_parent(folder),
        "kills-shim" => deed(folder, libc::SIGKILL),
        "kills-shim-bare" => renamed(folder, "kills-shim-bare", &deeds::keepers()),
        "stops-shim" => deed(folder, libc::SIGSTOP),
        "holds-shim" => holds_shim(folder),
        "own-namespace" => own_namespace(folder),
        "vfork" => spawned(folder),
        "traced" => traced(folder),
        "daemon" => daemon(folder),
        "thread-child" => {
            let folder = folder.clone();
            std::thread::spawn(move || child(&folder, sys::new_session)).join().unwrap_or(1)
        }
        "clone-parent" => sibling(folder),
        "respawner" => respawner(folder),
        "terminal" => terminal(folder),
        "headless" => headless(folder),
        "leaves-cgroup" => leaves_cgroup(folder),
        _ => sys::end(64),
    }
}

/// A child that prepares, reports and stays.
fn child(folder: &Folder, prepare: impl Fn()) -> usize {
    if sys::fork().is_none() {
        prepare();
        folder.report();
        sys::stay();
    }
    1
}

/// A grandchild in a session of its own whose parent is gone.
fn grandchild(folder: &Folder, prepare: impl Fn()) -> usize {
    orphan(|| {
        prepare();
        folder.report();
        sys::stay()
    });
    1
}

/// Forks twice, with a session between, and lets an orphan do this.
fn orphan(act: impl FnOnce()) {
    match sys::fork() {
        Some(_) => {
            sys::wait_for_child(false);
        }
        None => {
            sys::new_session();
            if sys::fork().is_some() {
                sys::end(0);
            }
            act();
            sys::end(0);
        }
    }
}

/// A copy of the program under another name, forked twice, with nothing in its environment.
fn renamed(folder: &Folder, name: &str, keepers: &[i32]) -> usize {
    let tag = std::env::var("ZOO_TAG").unwrap_or_default();
    let copy = folder.path().join("kthreadd");
    if let Ok(own) = std::env::current_exe() {
        fs::copy(own, &copy).ok();
    }
    let (called, place) = (format!("zoo-{tag}"), folder.path().to_string_lossy().into_owned());
    let keepers: Vec<String> = keepers.iter().map(i32::to_string).collect();
    orphan(|| {
        let mut words = vec![called.as_str(), "escapee", name, place.as_str()];
        words.extend(keepers.iter().map(String::as_str));
        sys::become_program(&copy, &words, &[])
    });
    1
}

/// What goes on behind an exec. Who is named is killed.
pub(crate) fn begun_anew(name: &str, folder: &Folder, victims: &[&str]) -> ! {
    sys::live_for(sys::LIFE_SECONDS);
    sys::new_session();
    if name != "vfork" {
        sys::ignore_all();
        sys::rename_to("kworker/0:1");
    }
    folder.report();
    for pid in victims.iter().filter_map(|pid| pid.parse().ok()) {
        sys::send(pid, libc::SIGKILL);
    }
    if name == "kills-shim-bare" {
        folder.say("done", &format!("{victims:?}\n"));
    }
    sys::stay()
}

/// Started as programs start programs: by vfork and exec.
fn spawned(folder: &Folder) -> usize {
    let Ok(own) = std::env::current_exe() else { sys::end(73) };
    let child = Command::new(own).args(["escapee", "vfork"]).arg(folder.path()).stdin(Stdio::null()).spawn();
    if child.is_err() {
        sys::end(74);
    }
    1
}

/// Stops itself once it has reported. A clock does not end who is stopped, so another one does.
fn stopped(folder: &Folder) -> usize {
    if sys::fork().is_none() {
        sys::new_session();
        end_it_later(sys::own_pid());
        folder.report();
        sys::send(sys::own_pid(), libc::SIGSTOP);
        sys::stay();
    }
    1
}

/// Somebody who ends a stopped process when its time is over.
fn end_it_later(pid: i32) {
    if sys::fork().is_none() {
        sys::live_for(sys::LIFE_SECONDS + 10);
        sys::rest(u64::from(sys::LIFE_SECONDS) * 1000);
        sys::send(pid, libc::SIGKILL);
        sys::end(0);
    }
}

/// Has a new pid each moment: forks, and the parent ends.
fn hopper(folder: &Folder) -> usize {
    let until = Instant::now() + Duration::from_secs(u64::from(sys::LIFE_SECONDS));
    orphan(|| {
        sys::ignore_all();
        while Instant::now() < until && !folder.is_over() {
            folder.report_as("hopper");
            sys::rest(1);
            if sys::fork().is_some() {
                sys::end(0);
            }
        }
    });
    1
}

/// Many who see to it that they stay many: who dies is replaced by its neighbours.
fn bomb(folder: &Folder) -> usize {
    let until = Instant::now() + Duration::from_secs(u64::from(sys::LIFE_SECONDS));
    let Some(places) = sys::shared_numbers::<MEMBERS>() else { sys::end(75) };
    orphan(|| {
        sys::ignore_all();
        for place in 1..MEMBERS {
            if sys::fork().is_none() {
                member(folder, places, place, until);
            }
        }
        member(folder, places, 0, until);
    });
    MEMBERS
}

fn member(folder: &Folder, places: &'static [AtomicI32; MEMBERS], mut own: usize, until: Instant) -> ! {
    places[own].store(sys::own_pid(), Ordering::SeqCst);
    folder.report();
    let settled = Instant::now() + Duration::from_millis(300);
    while Instant::now() < until && !folder.is_over() {
        sys::rest(20);
        for step in [1, 2, 3] {
            let place = (own + step) % MEMBERS;
            let holder = places[place].load(Ordering::SeqCst);
            // A negative number: somebody is about to fill the place, if it lives.
            let is_empty = if holder == 0 { Instant::now() > settled } else { !deeds::is_alive(holder.abs()) };
            let taken = is_empty
                && places[place].compare_exchange(holder, -sys::own_pid(), Ordering::SeqCst, Ordering::SeqCst).is_ok();
            if taken && sys::fork().is_none() {
                own = place;
                places[own].store(sys::own_pid(), Ordering::SeqCst);
                folder.report();
                break;
            }
        }
    }
    sys::end(0)
}

/// Kills the agent that started it.
fn kills_parent(folder: &Folder) -> usize {
    let agent = sys::own_pid();
    if sys::fork().is_none() {
        sys::new_session();
        folder.report();
        sys::send(agent, libc::SIGKILL);
        folder.say("done", "");
        sys::stay();
    }
    1
}

/// Sends a signal to everybody between us and the harness.
fn deed(folder: &Folder, signal: i32) -> usize {
    let keepers = deeds::keepers();
    orphan(|| {
        sys::ignore_all();
        folder.report();
        for pid in &keepers {
            sys::send(*pid, signal);
        }
        folder.say("done", &format!("{keepers:?}\n"));
        sys::stay();
    });
    1
}

/// Stops everybody between us and the harness, and again whenever somebody lets them go on.
fn holds_shim(folder: &Folder) -> usize {
    let until = Instant::now() + Duration::from_secs(u64::from(sys::LIFE_SECONDS));
    let keepers = deeds::keepers();
    orphan(|| {
        sys::ignore_all();
        folder.report();
        while Instant::now() < until && !folder.is_over() {
            for pid in &keepers {
                sys::send(*pid, libc::SIGSTOP);
            }
            if !folder.has("done") {
                folder.say("done", &format!("{keepers:?}\n"));
            }
            sys::rest(1);
        }
    });
    1
}

/// The first process of a PID namespace of its own, and one more in it.
fn own_namespace(folder: &Folder) -> usize {
    orphan(|| {
        if !sys::new_pid_namespace() {
            folder.say("impossible", "no PID namespace can be made here\n");
        }
        if sys::fork().is_some() {
            sys::end(0);
        }
        sys::ignore_all();
        if sys::fork().is_none() {
            folder.report();
            sys::stay();
        }
        folder.report();
        sys::stay();
    });
    2
}

/// One that is stopped by a tracer, and stops again when it dies, until the tracer lets it go.
fn traced(folder: &Folder) -> usize {
    orphan(|| {
        let tracee = sys::fork();
        let Some(tracee) = tracee else {
            sys::new_session();
            sys::be_traced();
            folder.report();
            sys::send(sys::own_pid(), libc::SIGSTOP);
            sys::stay();
        };
        sys::ignore_all();
        sys::wait_for_child(true);
        sys::stop_at_its_death(tracee);
        end_it_later(tracee);
        folder.report();
        sys::stay();
    });
    2
}

/// As daemon(3) has it: no session, no folder, no descriptors of who started it.
fn daemon(folder: &Folder) -> usize {
    grandchild(folder, || {
        std::env::set_current_dir("/").ok();
        sys::close_from(0);
    })
}

/// A child that is given to our parent at birth.
fn sibling(folder: &Folder) -> usize {
    if sys::fork_a_sibling().is_none() {
        sys::new_session();
        folder.report();
        sys::stay();
    }
    1
}

/// Takes orphans in as the harness does, and starts each child again that is killed.
fn respawner(folder: &Folder) -> usize {
    let until = Instant::now() + Duration::from_secs(u64::from(sys::LIFE_SECONDS));
    orphan(|| {
        sys::ignore(&[libc::SIGHUP, libc::SIGINT, libc::SIGTERM]);
        sys::adopt_orphans();
        folder.report();
        let mut alive = 0;
        while Instant::now() < until && !folder.is_over() {
            while alive < RESPAWNED {
                alive += 1;
                if sys::fork().is_none() {
                    folder.report();
                    sys::stay();
                }
            }
            if sys::wait_for_child(false) {
                alive -= 1;
            }
        }
    });
    1 + RESPAWNED
}

/// One holds a terminal open, another one has it as its own.
fn terminal(folder: &Folder) -> usize {
    orphan(|| {
        sys::ignore(&[libc::SIGHUP]);
        let Some((_held, name)) = sys::new_terminal() else { sys::end(76) };
        if sys::fork().is_none() {
            sys::new_session();
            // A session's leader that opens a terminal gets it for its own.
            let _own: Option<File> = OpenOptions::new().read(true).write(true).open(&name).ok();
            folder.report();
            sys::stay();
        }
        folder.report();
        sys::stay();
    });
    2
}

/// Its first thread has ended, so that it looks like a zombie; another one lives on.
fn headless(folder: &Folder) -> usize {
    let folder = folder.clone();
    orphan(move || {
        std::thread::spawn(move || {
            while !first_thread_is_gone() {
                sys::rest(1);
            }
            folder.report();
            sys::stay();
        });
        sys::end_thread();
    });
    1
}

fn first_thread_is_gone() -> bool {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

/// Goes up in the tree of cgroups as far as it is let.
fn leaves_cgroup(folder: &Folder) -> usize {
    grandchild(folder, || {
        sys::ignore_all();
        if !deeds::leave_cgroup() {
            folder.say("impossible", "no cgroup above this one may be entered\n");
        }
    })
}
