//! Random trees with everything in them that a workspace can hold, and what an agent does to them.
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What a walker of the tests' own sees: kind and permissions, and the bytes.
pub(crate) type Sight = BTreeMap<Vec<u8>, (u32, Vec<u8>)>;

/// Every path below a folder with what `lstat` says; no link is followed.
fn paths(root: &Path) -> Vec<(PathBuf, fs::Metadata)> {
    let (mut found, mut open) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(root.join(&folder)).unwrap().flatten() {
            let path = folder.join(entry.file_name());
            let stat = fs::symlink_metadata(root.join(&path)).unwrap();
            if stat.is_dir() {
                open.push(path.clone());
            }
            found.push((path, stat));
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

pub(crate) fn walk(root: &Path) -> Sight {
    let seen = paths(root).into_iter().map(|(path, stat)| {
        let full = root.join(&path);
        let bytes = if stat.is_symlink() {
            fs::read_link(full).unwrap().into_os_string().into_vec()
        } else if stat.is_file() {
            fs::read(full).unwrap()
        } else {
            Vec::new()
        };
        // The permissions of a link mean nothing.
        let mode = if stat.is_symlink() { 0o120_000 } else { stat.mode() };
        (path.into_os_string().into_vec(), (mode, bytes))
    });
    seen.collect()
}

/// Repositories as git itself makes them, made once.
struct Templates(tempfile::TempDir);

impl Templates {
    fn get() -> &'static Path {
        static MADE: OnceLock<Templates> = OnceLock::new();
        MADE.get_or_init(Self::make).0.path()
    }

    fn make() -> Self {
        let folder = loop_testkit::folder_in_memory();
        loop_testkit::must(
            folder.path(),
            "set -e; git() { command git -c init.templateDir= -c protocol.file.allow=always \"$@\"; }
             git init -q -b main empty && echo x > empty/file
             git init -q -b main full && cd full && echo x > file && git add -A && git commit -qm one && cd ..
             git init -q -b main super && cd super && git submodule --quiet add ../full sub && git commit -qm one && cd ..
             git init -q -b main trees && cd trees && echo x > file && git add -A && git commit -qm one
             git worktree add -q linked -b side && cd ..",
        );
        Self(folder)
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for (path, stat) in paths(from) {
        if stat.is_dir() {
            fs::create_dir(to.join(path)).unwrap();
        } else {
            fs::copy(from.join(&path), to.join(&path)).unwrap();
        }
    }
}

/// A small generator: the same seed is the same tree.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        (self.next() >> 33) % sides
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.roll(u64::try_from(all.len()).unwrap())).unwrap()]
    }
}

pub(crate) struct RandomTree<'a> {
    pub(crate) root: &'a Path,
    pub(crate) dice: Dice,
}

impl RandomTree<'_> {
    /// A workspace: a plain folder, or one that git has made something of.
    pub(crate) fn plant(&mut self) {
        match self.dice.one_of(&["", "", "", "empty", "full", "super", "trees", "trees/linked"]) {
            "" => fs::create_dir(self.root).unwrap(),
            template => copy(&Templates::get().join(template), self.root),
        }
        for _ in 0..self.dice.roll(12) + 2 {
            self.grow(self.root, 0);
        }
    }

    fn name(&mut self) -> Vec<u8> {
        match self.dice.roll(12) {
            0 => vec![b'b', 0xff, u8::try_from(self.dice.roll(100)).unwrap() | 0x80],
            1 => vec![b'a' + u8::try_from(self.dice.roll(20)).unwrap(); 255],
            2 => b"a b\n\"\\'$".to_vec(),
            3 => self.dice.one_of(&["x.log", "keep.log", "made"]).as_bytes().to_vec(),
            _ => format!("n{}", self.dice.roll(40)).into_bytes(),
        }
    }

    /// Grows something new somewhere.
    fn grow(&mut self, folder: &Path, depth: u32) {
        let path = folder.join(OsString::from_vec(self.name()));
        if fs::symlink_metadata(&path).is_ok() {
            return;
        }
        match self.dice.roll(20) {
            0 => symlink("nowhere", &path).unwrap(),
            1 => symlink(path.file_name().unwrap(), &path).unwrap(),
            2 => symlink("/etc/passwd", &path).unwrap(),
            3 => self.file(&path, 0o4755),
            4 => self.file(&path, 0o755),
            5 => self.file(&path, 0o600),
            6 => fs::create_dir(&path).unwrap(),
            7 if depth < 4 => {
                fs::create_dir(&path).unwrap();
                (0..self.dice.roll(3)).for_each(|_| self.grow(&path, depth + 1));
                fs::set_permissions(&path, Permissions::from_mode(0o0)).unwrap();
            }
            8 if depth < 3 => {
                let template = self.dice.one_of(&["empty", "full", "super", "trees"]);
                copy(&Templates::get().join(template), &path);
            }
            9 | 10 => self.edit_ignores(folder),
            11 => self.attributes(folder),
            12 => fs::File::create(&path).and_then(|file| file.set_len(1 << 18)).unwrap(),
            13 => {
                self.file(&path, 0o644);
                fs::hard_link(&path, folder.join(format!("hard{}", self.dice.roll(1000)))).ok();
            }
            14 => {
                for path in ["\u{e9}", "e\u{301}"].map(|name| folder.join(name)) {
                    if fs::symlink_metadata(&path).is_err() {
                        self.file(&path, 0o644);
                    }
                }
            }
            15 | 16 if depth < 4 => {
                fs::create_dir(&path).unwrap();
                (0..=self.dice.roll(4)).for_each(|_| self.grow(&path, depth + 1));
            }
            _ => self.file(&path, 0o644),
        }
    }

    /// What is ignored in a folder from now on.
    fn edit_ignores(&mut self, folder: &Path) {
        let path = folder.join(".gitignore");
        if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
            return;
        }
        let line = match self.dice.roll(6) {
            0 => "*.log\n".to_owned(),
            1 => "*.log\n!keep.log\n".to_owned(),
            2 => "made/\n".to_owned(),
            3 => "made\n".to_owned(),
            4 => format!("!n{}\n", self.dice.roll(40)),
            _ => (0..8).map(|_| format!("n{}\n", self.dice.roll(40))).collect(),
        };
        if self.dice.roll(3) == 0 {
            fs::remove_file(&path).ok();
        }
        let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
        std::io::Write::write_all(&mut file, line.as_bytes()).unwrap();
    }

    /// What git would do to contents, which we do not.
    fn attributes(&mut self, folder: &Path) {
        let traps = ["text eol=crlf", "ident", "filter=evil", "working-tree-encoding=UTF-16"];
        let line = if self.dice.roll(3) == 0 { traps.join(" ") } else { self.dice.one_of(&traps).to_owned() };
        // A folder may have that name by now.
        fs::write(folder.join(".gitattributes"), format!("* {line}\n")).ok();
    }

    fn file(&mut self, path: &Path, mode: u32) {
        // Its lines are judged, so that they must be ones that the judge knows.
        if path.file_name() == Some(OsStr::new(".gitignore")) {
            return self.edit_ignores(path.parent().unwrap());
        }
        let length = self.dice.one_of(&[0, 1, 100, 5000]);
        let mut bytes: Vec<u8> = Vec::new();
        while bytes.len() < length {
            bytes.extend(self.dice.next().to_le_bytes());
        }
        bytes.truncate(length);
        // Lines, keywords and ends that git would make something else of.
        bytes.extend_from_slice(self.dice.one_of(&[&b""[..], b"$Id$\r\n", b"a\r\nb\n"]));
        fs::write(path, bytes).unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    /// Changes something that is there.
    pub(crate) fn change(&mut self) {
        let all = paths(self.root);
        if all.is_empty() {
            return self.grow(self.root, 1);
        }
        let (path, found) = &all[usize::try_from(self.dice.roll(u64::try_from(all.len()).unwrap())).unwrap()];
        let path = self.root.join(path);
        match self.dice.roll(8) {
            0 | 1 if found.is_dir() => fs::remove_dir_all(&path).unwrap(),
            0 | 1 => fs::remove_file(&path).unwrap(),
            2 if found.is_file() => self.file(&path, 0o644),
            3 if !found.is_symlink() => {
                let mode = self.dice.one_of(&[0o700, 0o755, 0o644, 0]);
                fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            }
            4 if found.is_dir() => {
                fs::remove_dir_all(&path).unwrap();
                self.file(&path, 0o644);
            }
            4 => {
                fs::remove_file(&path).unwrap();
                fs::create_dir(&path).unwrap();
                self.grow(&path, 3);
            }
            5 if found.is_dir() => self.edit_ignores(&path),
            6 => self.edit_ignores(self.root),
            _ if found.is_dir() => self.grow(&path, 2),
            _ => self.grow(self.root, 1),
        }
    }
}

/// What is there of all that a tree can have, each at most once.
pub(crate) fn features(root: &Path, sight: &Sight) -> Vec<&'static str> {
    let mut there = Vec::new();
    for (path, (mode, bytes)) in sight {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap();
        let sibling = |other: &str| [&path[..path.len() - name.len()], other.as_bytes()].concat();
        let has_below = |part: &[u8]| sight.keys().any(|other| other.starts_with(&[path, part].concat()));
        let is_top = name.len() == path.len();
        let names = [
            (std::str::from_utf8(name).is_err(), "names that are not UTF-8"),
            (name.len() == 255, "names of 255 bytes"),
            (name == "\u{e9}".as_bytes() && sight.contains_key(&sibling("e\u{301}")), "NFC and NFD beside each other"),
        ];
        there.extend(names.iter().filter(|(is_there, _)| *is_there).map(|(_, what)| *what));
        let (kind, text) = (mode & 0o170_000, String::from_utf8_lossy(bytes));
        let is_file = kind == 0o100_000;
        let what: &[(bool, &'static str)] = match kind {
            0o120_000 => &[
                (bytes == b"nowhere", "dangling links"),
                (bytes == name, "cyclic links"),
                (bytes.starts_with(b"/"), "links that lead out"),
            ],
            0o040_000 => &[
                (!has_below(b"/"), "empty folders"),
                (mode & 0o777 == 0, "folders without permissions"),
                (name == b".git" && is_top, "repositories"),
                (name == b".git" && !is_top && has_below(b"/refs/heads/main"), "nested repositories with commits"),
                (name == b".git" && !is_top && !has_below(b"/refs/heads/main"), "nested repositories without commits"),
            ],
            _ => &[
                (mode & 0o4000 != 0, "set-id bits"),
                (mode & 0o111 != 0, "programs"),
                (ignored(sight, path, false), "ignored files"),
                (name == b".git" && !is_top && text.contains("/modules/"), "submodules"),
                (name == b".git" && text.contains("/worktrees/"), "worktrees"),
                (is_sparse(root, path), "sparse files"),
                (is_file && name == b".gitignore", "ignore files"),
                (is_file && name == b".gitattributes" && text.contains("eol"), "attributes: eol"),
                (is_file && name == b".gitattributes" && text.contains("ident"), "attributes: ident"),
                (is_file && name == b".gitattributes" && text.contains("filter"), "attributes: filter"),
                (is_file && name == b".gitattributes" && text.contains("encoding"), "attributes: encoding"),
                (is_linked(root, path), "hard links"),
            ],
        };
        there.extend(what.iter().filter(|(is_there, _)| *is_there).map(|(_, what)| *what));
    }
    there.sort_unstable();
    there.dedup();
    there
}

fn is_sparse(root: &Path, path: &[u8]) -> bool {
    let stat = fs::symlink_metadata(root.join(OsStr::from_bytes(path))).unwrap();
    stat.len() > 65_536 && stat.blocks() * 512 < stat.len()
}

fn is_linked(root: &Path, path: &[u8]) -> bool {
    fs::symlink_metadata(root.join(OsStr::from_bytes(path))).unwrap().nlink() > 1
}

/// Whether the ignore files of a tree name a path or a folder above it: git's rules, as far as the random_tree uses them.
pub(crate) fn ignored(sight: &Sight, path: &[u8], is_folder: bool) -> bool {
    let parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    (1..=parts.len()).any(|depth| {
        let is_folder = is_folder || depth < parts.len();
        let rules = (0..depth).rev().flat_map(|above| {
            let file = [&parts[..above], &[&b".gitignore"[..]]].concat().join(&b'/');
            let text = sight.get(&file).filter(|(mode, _)| mode & 0o170_000 == 0o100_000).map(|(_, text)| text.clone());
            let text = String::from_utf8(text.unwrap_or_default()).unwrap();
            text.lines().rev().map(str::to_owned).collect::<Vec<_>>()
        });
        let verdict = rules.into_iter().find_map(|line| {
            let (is_back, rule) = line.strip_prefix('!').map_or((false, line.as_str()), |rule| (true, rule));
            let (only_folders, rule) = rule.strip_suffix('/').map_or((false, rule), |rule| (true, rule));
            let name = parts[depth - 1];
            let is_named = rule.strip_prefix('*').map_or(name == rule.as_bytes(), |end| name.ends_with(end.as_bytes()));
            (is_named && (is_folder || !only_folders)).then_some(!is_back)
        });
        verdict == Some(true)
    })
}
